package sqlite

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// instanceColumns are read by scanInstance.
const instanceColumns = rowColumns + `o.custom_status, o.result, o.sum`

const rowColumns = `i.id, i.key, k.name, k.code_version, i.status, i.deleting, i.execution, i.version, i.history_length,
	i.history_bytes, k.engine_level, i.parent_key, i.parent_id, i.parent_execution, i.parent_event, i.parent_close,
	i.blocked, i.blocked_reason, i.blocked_message, i.blocked_count, i.blocked_since, i.retry_at, i.request_id,
	i.attributes, i.created_at, i.updated_at, i.ended_at, i.ready_at, i.inbox_messages, i.deliveries, `

const instanceTables = ` FROM perdure_instance i JOIN perdure_kind k ON k.id = i.kind
	LEFT JOIN perdure_outcome o ON o.key = i.key`

const (
	sqlInstance = `SELECT ` + instanceColumns + instanceTables + ` WHERE i.key = ?`
	// Rows of a list have no result, and perhaps no custom status.
	sqlListed       = `SELECT ` + rowColumns + `o.custom_status, NULL, NULL` + instanceTables + ` WHERE i.key = ?`
	sqlListedShort  = `SELECT ` + rowColumns + `NULL, NULL, NULL FROM perdure_instance i JOIN perdure_kind k ON k.id = i.kind WHERE i.key = ?`
	sqlInstanceByID = `SELECT ` + instanceColumns + instanceTables + ` WHERE i.id = ? AND i.current = 1`
	sqlAttributes   = `SELECT name, kind, text, number FROM perdure_attribute WHERE key = ? ORDER BY name`
)

// scanInstance reads instanceColumns. It reports whether the instance has attributes.
func scanInstance(r *row, in *provider.Instance) (attributes bool) {
	in.ID, in.Key, in.Name, in.CodeVersion = r.text(0), r.uuid(1), r.text(2), r.text(3)
	in.Status, in.Deleting, in.Execution, in.Version = provider.Status(r.int(4)), r.bool(5), r.int(6), r.uuid(7)
	in.HistoryLength, in.HistoryBytes, in.EngineLevel = r.int(8), r.int(9), r.int(10)
	if !r.null(11) {
		in.Parent = provider.Parent{
			Key: r.uuid(11), ID: r.text(12), Execution: r.int(13), EventID: r.int(14), Close: provider.ClosePolicy(r.int(15)),
		}
	}
	if r.bool(16) {
		in.Blocked = &provider.Blocked{
			Reason: r.text(17), Message: r.text(18), Count: r.int(19), Since: r.time(20), RetryAt: r.time(21),
		}
	}
	in.RequestID = r.text(22)
	in.CreatedAt, in.UpdatedAt, in.EndedAt, in.ReadyAt = r.time(24), r.time(25), r.time(26), r.time(27)
	in.InboxMessages, in.Deliveries = r.int(28), r.int(29)
	in.CustomStatus, in.Result = r.blob(30), r.sound(31, 32)
	return r.bool(23)
}

// instanceOf reads an instance with its attributes. It returns false if there is none.
func instanceOf(db statements, in *provider.Instance, sql string, arg any) (bool, error) {
	attributes := false
	found, err := db.one(sql, func(r *row) { attributes = scanInstance(r, in) }, arg)
	if err != nil {
		return false, fmt.Errorf("perdure_instance %v: %w", arg, err)
	}
	if found && attributes {
		in.Attributes, err = attributesOf(db, in.Key)
	}
	return found, err
}

func attributesOf(db statements, key provider.UUID) (list []provider.Attribute, err error) {
	err = db.each(sqlAttributes, func(r *row) error {
		list = append(list, provider.Attribute{
			Name: r.text(0), Kind: provider.AttributeKind(r.int(1)), Text: r.text(2), Number: r.int(3),
		})
		return nil
	}, key)
	return list, err
}

// instanceRows are the instances and what describes them.
type instanceRows struct {
	*unit

	made   map[provider.UUID]*made // nil in a transaction of a caller
	pardon func(provider.UUID)     // lets fetches try an instance again that was damaged
}

// Instance implements [relational.Rows].
func (t *instanceRows) Instance(key provider.UUID) (provider.Instance, error) {
	if in, ok := t.recall(key); ok {
		return in, nil
	}
	return t.readInstance(key)
}

func (t *instanceRows) readInstance(key provider.UUID) (in provider.Instance, err error) {
	found, err := instanceOf(t.db, &in, sqlInstance, key)
	if err == nil && !found {
		err = fmt.Errorf("instance %s: %w", key, provider.ErrNotFound)
	}
	return in, err
}
