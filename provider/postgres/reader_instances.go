package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

// instanceColumns are the columns that scanInstance reads.
const instanceColumns = `i.id, i.key, k.name, k.code_version, i.status, i.deleting, i.execution, i.version, i.history_length,
	i.history_bytes, k.engine_level, i.parent_key, i.parent_id, i.parent_execution, i.parent_event, i.parent_close,
	i.blocked, i.blocked_reason, i.blocked_message, i.blocked_count, i.blocked_since, i.retry_at, i.request_id,
	i.attributes, i.created_at, i.updated_at, i.ended_at, i.ready_at, i.inbox_messages, i.deliveries,
	o.custom_status, o.result`

const instanceTables = ` FROM perdure.instance i JOIN perdure.kind k ON k.id = i.kind
	LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[i.key])`

const (
	sqlInstance     = `SELECT ` + instanceColumns + instanceTables + ` WHERE i.key = $1`
	sqlAttributesOf = `SELECT key, name, kind, text, number FROM perdure.attribute WHERE key = ANY($1::uuid[]) ORDER BY key, name`
)

// flagged marks an instance whose attributes readAttributes will read.
var flagged = []provider.Attribute{} //nolint:gochecknoglobals // constant

// scanInstance reads instanceColumns and the columns after them.
func scanInstance(rows pgx.Rows, in *provider.Instance, more ...any) error {
	var rest struct { // one variable for the columns that Instance has no field for
		blocked               provider.Blocked
		message               []byte // not text: it holds whatever a panic said
		isBlocked, attributes bool
	}
	p, blocked := &in.Parent, &rest.blocked
	args := append(make([]any, 0, 48), // one slice for these columns and those after them
		&in.ID, into(&in.Key), &in.Name, &in.CodeVersion, &in.Status, &in.Deleting, &in.Execution, into(&in.Version),
		&in.HistoryLength, &in.HistoryBytes, &in.EngineLevel, into(&p.Key), &p.ID, &p.Execution, &p.EventID, &p.Close,
		&rest.isBlocked, &blocked.Reason, &rest.message, &blocked.Count, &blocked.Since, &blocked.RetryAt, &in.RequestID,
		&rest.attributes, &in.CreatedAt, &in.UpdatedAt, &in.EndedAt, &in.ReadyAt, &in.InboxMessages, &in.Deliveries,
		&in.CustomStatus, &in.Result)
	if err := scan(rows, append(args, more...)...); err != nil {
		return err
	}
	if rest.isBlocked {
		blocked.Message = string(rest.message)
		in.Blocked = blocked
	}
	if rest.attributes {
		in.Attributes = flagged
	}
	return nil
}

// scan reads a row. Its list of destinations escapes to the heap only for rows of the driver.
func scan(rows pgx.Rows, places ...any) error {
	if r, ok := rows.(*incoming); ok {
		return r.Scan(places...)
	}
	return rows.Scan(slices.Clone(places)...)
}

// instances reads instances with their attributes.
func (db *database) instances(ctx context.Context, q querying, sql string, args ...any) ([]provider.Instance, error) {
	rows, err := q.Query(ctx, db.names.sql(sql), args...)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, func(pgx.CollectableRow) (in provider.Instance, err error) {
		return in, scanInstance(rows, &in)
	})
	if err != nil {
		return nil, err
	}
	pointers := make([]*provider.Instance, len(list))
	for i := range list {
		pointers[i] = &list[i]
	}
	return list, db.readAttributes(ctx, q, pointers)
}

// readAttributes adds the attributes to flagged instances.
func (db *database) readAttributes(ctx context.Context, q querying, list []*provider.Instance) error {
	byKey := make(map[provider.UUID]*provider.Instance)
	var keys []provider.UUID
	for _, in := range list {
		if in.Attributes != nil {
			in.Attributes = nil
			byKey[in.Key] = in
			keys = append(keys, in.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	b := db.byIndex()
	b.Queue(db.names.sql(sqlAttributesOf), uuids(keys)).Query(func(rows pgx.Rows) error {
		return eachAttribute(rows, func(key provider.UUID, a provider.Attribute) {
			byKey[key].Attributes = append(byKey[key].Attributes, a)
		})
	})
	return q.SendBatch(ctx, b).Close()
}

// eachAttribute reads rows of attributes to their end.
func eachAttribute(rows pgx.Rows, fn func(provider.UUID, provider.Attribute)) error {
	defer rows.Close()
	for rows.Next() {
		var key provider.UUID
		var a provider.Attribute
		if err := rows.Scan(into(&key), &a.Name, &a.Kind, &a.Text, &a.Number); err != nil {
			return err
		}
		fn(key, a)
	}
	return rows.Err()
}
