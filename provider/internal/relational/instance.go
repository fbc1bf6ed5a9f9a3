package relational

import "github.com/perdure/perdure/provider"

// InstanceColumns are the columns that ScanInstance reads. A store with checksums adds the one of the result.
const InstanceColumns = RowColumns + `, o.custom_status, o.result`

// InstanceColumnCount is how many InstanceColumns there are.
const InstanceColumnCount = rowColumns + 2

const (
	// instanceAnd are the columns of a whole row with its checksum. The columns after them begin with moreColumns.
	instanceAnd = InstanceColumns + `, {NULL|o.sum}, `
	moreColumns = rowColumns + 3

	outcomeOf     = ` LEFT JOIN perdure.outcome o ON o.key = {ANY(ARRAY[i.key])|i.key}`
	instanceOf    = ` FROM perdure.instance i JOIN perdure.kind k ON k.id = i.kind` + outcomeOf
	sqlAttributes = `SELECT name, kind, text, number FROM perdure.attribute
	WHERE key = {ANY(ARRAY[$1::uuid]) ORDER BY key, name|$1 ORDER BY name}`
)

// ScanInstance reads InstanceColumns. It reports whether the instance has attributes.
func ScanInstance(r Row, in *provider.Instance) (attributes bool) {
	attributes = scanRow(r, in)
	in.CustomStatus, in.Result = r.Blob(rowColumns), r.VerifiedBlob(rowColumns+1)
	return attributes
}

// ScanAttribute reads the columns name, kind, text and number.
func ScanAttribute(r Row, first int) provider.Attribute {
	return provider.Attribute{
		Name: r.Text(first), Kind: provider.AttributeKind(r.Int(first + 1)), Text: r.Text(first + 2), Number: r.Int(first + 3),
	}
}

func timeIn(r Row, column int) provider.Time { return provider.Time(r.Int(column)) }
