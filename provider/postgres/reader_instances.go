package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// instanceColumns are the columns that scanInstance reads.
const instanceColumns = relational.InstanceColumns

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
	r := &row{rows: rows, values: rows.RawValues(), fields: rows.FieldDescriptions()}
	if relational.ScanInstance(r, in) {
		in.Attributes = flagged
	}
	if r.bad != nil {
		return r.bad
	}
	return r.scanRest(relational.InstanceColumnCount, more...)
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
	return eachRow(rows, func(r *row) error {
		fn(r.UUID(0), relational.ScanAttribute(r, 1))
		return nil
	})
}
