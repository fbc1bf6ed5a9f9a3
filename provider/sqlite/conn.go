package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	sqlite "modernc.org/sqlite"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A conn is one connection with its prepared statements. One goroutine at a time uses it. It calls the driver directly,
// because database/sql costs more than the statements do.
type conn struct {
	raw   driver.Conn
	stmts map[string]*statement
	args  []driver.NamedValue
}

type statement struct {
	raw   driver.Stmt
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	row   row
}

var errDriver = errors.New("the SQLite driver lacks a method that this package needs")

func newConn(raw driver.Conn) *conn {
	return &conn{raw: raw, stmts: make(map[string]*statement), args: make([]driver.NamedValue, 0, 40)}
}

// connect opens a connection.
func connect(ctx context.Context, dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err //nolint:wrapcheck // OpenWith names the file
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // callers explain it
	}
	return newConn(raw), nil
}

func (c *conn) prepare(sql string) (*statement, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	raw, err := c.raw.Prepare(strings.ReplaceAll(relational.Variant(sql, true), "perdure.", "perdure_"))
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	exec, ok1 := raw.(driver.StmtExecContext)
	query, ok2 := raw.(driver.StmtQueryContext)
	if !ok1 || !ok2 {
		return nil, errors.Join(errDriver, raw.Close())
	}
	s := &statement{raw: raw, exec: exec, query: query}
	c.stmts[sql] = s
	return s, nil
}

// bind fills the reused argument list. The driver copies the values before its call returns.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		v := driver.NamedValue{Ordinal: i + 1}
		if n, ok := a.(named); ok {
			v.Name, v.Value = n.name, n.value
		} else {
			v.Value = value(a)
		}
		c.args = append(c.args, v)
	}
	return c.args
}

// value converts the types of this package into those of the driver. A zero UUID is null.
func value(a any) driver.Value {
	switch v := a.(type) {
	case provider.UUID:
		if v.IsZero() {
			return nil
		}
		return v[:]
	case relational.RawKey:
		return append([]byte{}, v...)
	case []int64:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ",") // for json_each
	case provider.Time:
		return int64(v)
	case int:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case provider.Status:
		return int64(v)
	case provider.TaskState:
		return int64(v)
	case provider.MessageKind:
		return int64(v)
	case provider.ClosePolicy:
		return int64(v)
	case provider.AttributeKind:
		return int64(v)
	default:
		return a
	}
}

// exec runs a statement and returns how many rows it changed.
func (c *conn) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return 0, err
	}
	res, err := s.exec.ExecContext(ctx, c.bind(args))
	if err != nil {
		return 0, err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	return res.RowsAffected() //nolint:wrapcheck // the driver never fails here
}

// each calls fn for every row. fn must not run the same statement again.
func (c *conn) each(ctx context.Context, sql string, fn func(*row) error, args ...any) (err error) {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	rows, err := s.query.QueryContext(ctx, c.bind(args))
	if err != nil {
		return err //nolint:wrapcheck // failed wraps it once, with the method's name
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	r := &s.row
	r.bad = nil
	if r.vals == nil {
		r.names = rows.Columns()
		r.vals = make([]driver.Value, len(r.names))
	}
	for {
		if err := rows.Next(r.vals); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err //nolint:wrapcheck // failed wraps it once, with the method's name
		}
		if err := fn(r); err != nil {
			if errors.Is(err, errStop) {
				return nil
			}
			return err
		}
		if r.bad != nil {
			return r.bad
		}
	}
}

// errStop ends each early.
var errStop = relational.ErrStop

// one is each for at most one row. It reports whether there was one.
func (c *conn) one(ctx context.Context, sql string, fn func(*row), args ...any) (bool, error) {
	found := false
	err := c.each(ctx, sql, func(r *row) error {
		found = true
		fn(r)
		if r.bad != nil {
			return r.bad
		}
		return errStop
	}, args...)
	return found, err
}

// integer reads one number. It returns 0 if there is no row or the number is null.
func (c *conn) integer(ctx context.Context, sql string, args ...any) (n int64, err error) {
	_, err = c.one(ctx, sql, func(r *row) { n = r.int(0) }, args...)
	return n, err
}

func (c *conn) close() error {
	for _, s := range c.stmts {
		_ = s.raw.Close() // finalising repeats the statement's own error, which was returned
	}
	return c.raw.Close() //nolint:wrapcheck // failed wraps it once
}

// A row is the current row of a query. A value of the wrong type reads as zero and sets bad.
type row struct {
	names []string
	vals  []driver.Value
	bad   error
}

// errRow marks a stored row that cannot be read.
var errRow = relational.ErrRow

func (r *row) fault(i int) {
	if r.bad == nil {
		r.bad = fmt.Errorf("%w: column %s holds %T", errRow, r.names[i], r.vals[i])
	}
}

func (r *row) null(i int) bool { return r.vals[i] == nil }

func (r *row) int(i int) int64 {
	switch v := r.vals[i].(type) {
	case int64:
		return v
	case nil:
		return 0
	}
	r.fault(i)
	return 0
}

func (r *row) time(i int) provider.Time { return provider.Time(r.int(i)) }

func (r *row) bool(i int) bool { return r.int(i) != 0 }

func (r *row) text(i int) string {
	switch v := r.vals[i].(type) {
	case string:
		return v
	case nil:
		return ""
	}
	r.fault(i)
	return ""
}

// blob returns nil for null and an empty slice for an empty blob.
func (r *row) blob(i int) []byte {
	switch v := r.vals[i].(type) {
	case []byte:
		if v == nil {
			return []byte{}
		}
		return v
	case nil:
		return nil
	}
	r.fault(i)
	return nil
}

func (r *row) uuid(i int) (u provider.UUID) {
	b, ok := r.vals[i].([]byte)
	switch {
	case r.vals[i] == nil:
	case !ok || len(b) != len(u):
		r.fault(i)
	default:
		copy(u[:], b)
	}
	return u
}

// script runs several statements and keeps none of them prepared.
func (c *conn) script(ctx context.Context, sql string) error {
	raw, err := c.raw.Prepare(sql)
	if err != nil {
		return err //nolint:wrapcheck // the caller names the migration
	}
	exec, ok := raw.(driver.StmtExecContext)
	if !ok {
		return errors.Join(errDriver, raw.Close())
	}
	_, err = exec.ExecContext(ctx, nil)
	return errors.Join(err, raw.Close())
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNull(at provider.Time) any {
	if at == 0 {
		return nil
	}
	return int64(at)
}

// begunOrNull is what is stored about whether a task has begun.
func begunOrNull(task *relational.Task) any {
	if task.StartBy == 0 || !task.Begun {
		return nil
	}
	return true
}
