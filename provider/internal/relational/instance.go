package relational

import "github.com/perdure/perdure/provider"

// InstanceColumns are the columns that ScanInstance reads. A store with checksums adds the one of the result.
const InstanceColumns = RowColumns + `, o.custom_status, o.result`

// RowColumns are those of the instance itself.
const RowColumns = `i.id, i.key, k.name, k.code_version, i.status, i.deleting, i.execution, i.version, i.history_length,
	i.history_bytes, k.engine_level, i.parent_key, i.parent_id, i.parent_execution, i.parent_event, i.parent_close,
	i.blocked, i.blocked_reason, i.blocked_message, i.blocked_count, i.blocked_since, i.retry_at, i.request_id,
	i.attributes, i.created_at, i.updated_at, i.ended_at, i.ready_at, i.inbox_messages, i.deliveries`

const (
	// instanceAnd are the columns of a whole row with its checksum. The columns after them begin with moreColumns.
	instanceAnd = InstanceColumns + `, {NULL|o.sum}, `
	moreColumns = 33

	outcomeOf     = ` LEFT JOIN perdure.outcome o ON o.key = {ANY(ARRAY[i.key])|i.key}`
	instanceOf    = ` FROM perdure.instance i JOIN perdure.kind k ON k.id = i.kind` + outcomeOf
	sqlAttributes = `SELECT name, kind, text, number FROM perdure.attribute
	WHERE key = {ANY(ARRAY[$1::uuid]) ORDER BY key, name|$1 ORDER BY name}`
)

// ScanInstance reads InstanceColumns. It reports whether the instance has attributes.
func ScanInstance(r Row, in *provider.Instance) (attributes bool) {
	in.ID, in.Key, in.Name, in.CodeVersion = r.Text(0), r.UUID(1), r.Text(2), r.Text(3)
	in.Status, in.Deleting, in.Execution, in.Version = provider.Status(r.Int(4)), r.Bool(5), r.Int(6), r.UUID(7)
	in.HistoryLength, in.HistoryBytes, in.EngineLevel = r.Int(8), r.Int(9), r.Int(10)
	in.Parent = provider.Parent{
		Key: r.UUID(11), ID: r.Text(12), Execution: r.Int(13), EventID: r.Int(14), Close: provider.ClosePolicy(r.Int(15)),
	}
	if r.Bool(16) {
		in.Blocked = &provider.Blocked{
			Reason: r.Text(17), Message: r.Text(18), Count: r.Int(19), Since: timeIn(r, 20), RetryAt: timeIn(r, 21),
		}
	}
	in.RequestID = r.Text(22)
	in.CreatedAt, in.UpdatedAt, in.EndedAt, in.ReadyAt = timeIn(r, 24), timeIn(r, 25), timeIn(r, 26), timeIn(r, 27)
	in.InboxMessages, in.Deliveries = r.Int(28), r.Int(29)
	in.CustomStatus, in.Result = r.Blob(30), r.Sound(31)
	return r.Bool(23)
}

// ScanAttribute reads the columns name, kind, text and number.
func ScanAttribute(r Row, first int) provider.Attribute {
	return provider.Attribute{
		Name: r.Text(first), Kind: provider.AttributeKind(r.Int(first + 1)), Text: r.Text(first + 2), Number: r.Int(first + 3),
	}
}

func timeIn(r Row, column int) provider.Time { return provider.Time(r.Int(column)) }
