package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// storage runs the statements that both SQL stores share. It implements [relational.Storage].
type storage struct {
	db    *database
	clock *clock
}

// Read implements [relational.Storage].
func (s storage) Read(ctx context.Context, how relational.Reading, fn func(relational.Queryer) error) error {
	if how.Snapshot {
		return s.db.snapshot(ctx, how.Op, func(ctx context.Context, tx pgx.Tx) error {
			return fn(queries{s.db, s.db.byIndex, func(b *pgx.Batch) error { return tx.SendBatch(ctx, b).Close() }})
		})
	}
	return s.db.read(ctx, how.Op, func(ctx context.Context, c *pgxpool.Conn) error {
		return fn(queries{s.db, s.db.byIndex, func(b *pgx.Batch) error { return s.db.exchange(ctx, c.Conn(), b) }})
	})
}

// Write implements [relational.Storage].
func (s storage) Write(ctx context.Context, op string, _ int, fn func(relational.Queryer) error) error {
	return s.db.autocommit(ctx, op, func(ctx context.Context, pool *pgxpool.Pool) error {
		return fn(queries{s.db, s.db.byIndex, func(b *pgx.Batch) error { return pool.SendBatch(ctx, b).Close() }})
	})
}

func newBatch() *pgx.Batch { return &pgx.Batch{} }

// Leases implements [relational.Storage]. It does not know whether an owner is dead.
func (s storage) Leases(_ relational.Queryer, now provider.Time) (func(string, int64) provider.LeaseRow, error) {
	return func(owner string, until int64) provider.LeaseRow {
		return provider.LeaseRow{Owner: owner, Until: provider.Time(until), Over: provider.Time(until) <= now}
	}, nil
}

// Skew implements [relational.Storage]. There is one clock.
func (s storage) Skew() int64 { return 0 }

// PollFailed implements [relational.Storage].
func (s storage) PollFailed(err error) {
	s.db.opts.Logger.Warn("perdure postgres: looking for changes failed, calls that wait for one return up to 15 s late", "error", err)
}

// Now implements [relational.Storage].
func (s storage) Now() provider.Time { return s.clock.latest() }

// ObserveTime implements [relational.Storage].
func (s storage) ObserveTime(now provider.Time) { s.clock.advance(now) }

// queries are shared statements on a connection.
type queries struct {
	db       *database
	begin    func() *pgx.Batch
	exchange func(*pgx.Batch) error
}

// Query implements [relational.Queryer].
func (q queries) Query(list ...relational.Query) error {
	b := q.begin()
	for _, query := range list {
		args := make([]any, len(query.Args))
		for i, a := range query.Args {
			args[i] = argument(a)
		}
		b.Queue(q.db.names.sql(query.SQL), args...).Query(func(rows pgx.Rows) error {
			return eachRow(rows, func(r *row) error { return query.Each(r) })
		})
	}
	return q.exchange(b)
}

// Query implements [relational.Rows].
func (u *unit) Query(list ...relational.Query) error {
	if err := u.send(); err != nil {
		return err
	}
	for i := range list {
		if each := list[i].Each; list[i].Writes {
			list[i].Each = func(r relational.Row) error {
				u.view.Changes++
				return each(r)
			}
		}
	}
	return queries{u.db, newBatch, u.exchange}.Query(list...)
}

// argument converts an argument of a shared statement to the driver's type.
func argument(a any) any {
	switch v := a.(type) {
	case provider.UUID:
		return uuid(v)
	case relational.RawKey:
		key := pgtype.UUID{Valid: true} // zero is before all keys, and not NULL
		copy(key.Bytes[:], v)
		return key
	}
	return a
}

// row is the current row of a statement. It implements [relational.Row].
type row struct {
	rows   pgx.Rows
	values [][]byte
	fields []pgconn.FieldDescription
	bad    error
}

// eachRow calls fn for the rows until it fails.
func eachRow(rows pgx.Rows, fn func(*row) error) error {
	defer rows.Close()
	r := &row{rows: rows}
	for rows.Next() {
		r.values, r.fields = rows.RawValues(), rows.FieldDescriptions()
		if err := fn(r); errors.Is(err, relational.ErrStop) {
			break
		} else if err != nil {
			return err
		}
		if r.bad != nil {
			return r.bad
		}
	}
	rows.Close()
	return rows.Err()
}

// format returns the form of a column. A caller's connection may use the text form.
func (r *row) format(i int) int16 {
	if _, own := r.rows.(*incoming); own {
		return pgtype.BinaryFormatCode // whatever the description of the statement says
	}
	return r.fields[i].Format
}

func (r *row) binary(i int) bool { return r.format(i) == pgtype.BinaryFormatCode }

// decoded makes the driver decode a column.
func decoded[T any](r *row, i int) (v T) {
	if r.values[i] == nil {
		return v
	}
	field := &r.fields[i]
	if err := r.rows.Conn().TypeMap().Scan(field.DataTypeOID, r.format(i), r.values[i], &v); err != nil && r.bad == nil {
		r.bad = fmt.Errorf("%w: column %s: %w", errRow, field.Name, err)
	}
	return v
}

// Int implements [relational.Row].
func (r *row) Int(i int) int64 {
	if n, ok := integer(r.fields[i].DataTypeOID, r.values[i]); ok && r.binary(i) {
		return n
	}
	return decoded[int64](r, i)
}

// Bool implements [relational.Row].
func (r *row) Bool(i int) bool {
	if v := r.values[i]; len(v) == 1 && r.binary(i) {
		return v[0] != 0
	}
	return decoded[bool](r, i)
}

// Text implements [relational.Row].
func (r *row) Text(i int) string {
	if r.binary(i) || r.fields[i].DataTypeOID == pgtype.TextOID {
		return string(r.values[i])
	}
	return string(decoded[[]byte](r, i))
}

// Blob implements [relational.Row].
func (r *row) Blob(i int) []byte {
	if r.binary(i) {
		return bytes.Clone(r.values[i])
	}
	return decoded[[]byte](r, i)
}

// VerifiedBlob implements [relational.Row]. The server has checksums of its own.
func (r *row) VerifiedBlob(i int) []byte { return r.Blob(i) }

// UUID implements [relational.Row].
func (r *row) UUID(i int) (u provider.UUID) {
	if r.binary(i) && copy(u[:], r.values[i]) == len(u) {
		return u
	}
	return decoded[pgtype.UUID](r, i).Bytes
}

// NotNull implements [relational.Row].
func (r *row) NotNull(i int) {
	if r.values[i] == nil && r.bad == nil {
		r.bad = fmt.Errorf("%w: column %s is null", errRow, r.fields[i].Name)
	}
}

// Fault implements [relational.Row].
func (r *row) Fault() error {
	err := r.bad
	r.bad = nil
	return err
}

// scanRest scans the columns from first on.
func (r *row) scanRest(first int, into ...any) error {
	for i, to := range into {
		field, v := &r.fields[first+i], r.values[first+i]
		if r.binary(first+i) && read(field.DataTypeOID, v, to) {
			continue
		}
		if err := r.rows.Conn().TypeMap().Scan(field.DataTypeOID, r.format(first+i), v, to); err != nil {
			return fmt.Errorf("column %s: %w", field.Name, err)
		}
	}
	return nil
}
