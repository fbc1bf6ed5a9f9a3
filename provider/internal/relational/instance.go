package relational

import "github.com/perdure/perdure/provider"

// InstanceColumns are the columns that ScanInstance reads. A store with checksums adds the one of the result.
const InstanceColumns = RowColumns + FailureColumns + `, o.custom_status, o.result`

// FailureColumns are those of a failure, which [Failure.Describe] shows only of its own instance.
const FailureColumns = `, o.failure_group, o.excerpt, o.failed_at`

// InstanceColumnCount is how many InstanceColumns there are.
const InstanceColumnCount = rowColumns + 5

const (
	// instanceAnd are the columns of a whole row with its checksum. The columns after them begin with moreColumns.
	instanceAnd = InstanceColumns + `, {NULL|o.sum}, `
	moreColumns = InstanceColumnCount + 1

	outcomeOf     = ` LEFT JOIN perdure.outcome o ON o.key = {ANY(ARRAY[i.key])|i.key}`
	instanceOf    = ` FROM perdure.instance i JOIN perdure.kind k ON k.id = i.kind` + outcomeOf
	sqlAttributes = `SELECT name, kind, text, number FROM perdure.attribute
	WHERE key = {ANY(ARRAY[$1::uuid]) ORDER BY key, name|$1 ORDER BY name}`
)

// ScanInstance reads InstanceColumns. It reports whether the instance has attributes.
func ScanInstance(r Row, in *provider.Instance) (attributes bool) {
	attributes = scanRow(r, in)
	if in.Status == provider.StatusFailed {
		if at := timeIn(r, rowColumns+2); at != 0 {
			(&Failure{r.Blob(rowColumns + 1), r.Text(rowColumns), at}).Describe(in)
		}
	}
	in.CustomStatus, in.Result = r.Blob(rowColumns+3), r.VerifiedBlob(rowColumns+4)
	return attributes
}

// ScanAttribute reads the columns name, kind, text and number.
func ScanAttribute(r Row, first int) provider.Attribute {
	return provider.Attribute{
		Name: r.Text(first), Kind: provider.AttributeKind(r.Int(first + 1)), Text: r.Text(first + 2), Number: r.Int(first + 3),
	}
}

func timeIn(r Row, column int) provider.Time { return provider.Time(r.Int(column)) }
