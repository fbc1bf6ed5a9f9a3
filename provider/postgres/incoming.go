package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

// answers are the results of a batch, in the order of its statements. They implement [pgx.BatchResults].
type answers struct {
	ctx        context.Context //nolint:containedctx // one for all messages: exchange has watched the caller's before
	conn       *pgx.Conn
	statements []*pgconn.StatementDescription
	next       int
	rows       incoming // of the statement before
	err        error    // no later statement has a result
	ready      bool     // the server has sent everything
}

func newAnswers(ctx context.Context, conn *pgx.Conn, n int) *answers {
	return &answers{ctx: context.WithoutCancel(ctx), conn: conn, statements: make([]*pgconn.StatementDescription, 0, n)}
}

// receive reads the rows of all statements.
func (a *answers) receive(b *pgx.Batch) (err error) {
	for _, query := range b.QueuedQueries {
		if query.Fn != nil {
			err = query.Fn(a)
		} else {
			_, err = a.Exec()
		}
		if err != nil {
			break
		}
	}
	for !a.ready {
		if _, err := a.message(); err != nil {
			return err
		}
	}
	if a.err != nil {
		return a.err
	}
	return err
}

// message returns the next message.
func (a *answers) message() (pgproto3.BackendMessage, error) {
	message, err := a.conn.PgConn().ReceiveMessage(a.ctx)
	if err != nil {
		a.err, a.ready = &unanswered{cause: err}, true
		return nil, a.err
	}
	switch m := message.(type) {
	case *pgproto3.ErrorResponse:
		a.err = pgconn.ErrorResponseToPgError(m)
	case *pgproto3.ReadyForQuery:
		a.ready = true
	}
	return message, nil
}

// open begins the rows of the next statement.
func (a *answers) open() *incoming {
	a.rows = incoming{answers: a, fields: a.statements[a.next].Fields, closed: a.err != nil}
	a.next++
	return &a.rows
}

// Query implements [pgx.BatchResults].
func (a *answers) Query() (pgx.Rows, error) { return a.open(), a.err }

// QueryRow implements [pgx.BatchResults].
func (a *answers) QueryRow() pgx.Row { return (*incomingRow)(a.open()) }

// Exec implements [pgx.BatchResults].
func (a *answers) Exec() (pgconn.CommandTag, error) {
	a.open().Close()
	return pgconn.CommandTag{}, a.err
}

// Close implements [pgx.BatchResults]. The caller reads the remaining results.
func (a *answers) Close() error { return a.err }

// Tx implements [pgx.BatchResults].
func (a *answers) Tx() pgx.Tx { return nil }

// incoming reads the rows of one statement as they arrive. It implements [pgx.Rows], because the driver's would look up
// how to decode each column.
type incoming struct {
	answers *answers
	fields  []pgconn.FieldDescription
	values  [][]byte // of the row, until the next message
	closed  bool
	failed  error // to read a row
}

// Next implements [pgx.Rows].
func (r *incoming) Next() bool {
	for !r.closed {
		message, err := r.answers.message()
		if err != nil || r.answers.err != nil {
			break
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			r.values = m.Values
			return true
		case *pgproto3.CommandComplete, *pgproto3.EmptyQueryResponse, *pgproto3.ReadyForQuery:
			r.closed = true
		}
	}
	r.closed, r.values = true, nil
	return false
}

// Scan implements [pgx.Rows].
func (r *incoming) Scan(dest ...any) error {
	if len(dest) != len(r.values) || len(dest) > len(r.fields) {
		return r.fail(fmt.Errorf("%d destinations for %d columns", len(dest), len(r.values)))
	}
	for i, to := range dest {
		if to == nil || read(r.fields[i].DataTypeOID, r.values[i], to) {
			continue
		}
		if err := r.TypeMap().Scan(r.fields[i].DataTypeOID, pgtype.BinaryFormatCode, r.values[i], to); err != nil {
			return r.fail(fmt.Errorf("column %s: %w", r.fields[i].Name, err))
		}
	}
	return nil
}

func (r *incoming) fail(err error) error {
	r.failed = err
	r.Close()
	return err
}

// read decodes a value into the most frequent types. It returns false if the driver must.
func read(oid uint32, v []byte, to any) bool {
	switch to := to.(type) {
	case *target:
		*to = target{}
		return oid == pgtype.UUIDOID && copy(to[:], v) == len(v)
	case *[]byte:
		*to = bytes.Clone(v)
		return oid == pgtype.ByteaOID
	case *string:
		if v == nil || oid != pgtype.TextOID {
			return false
		}
		*to = string(v)
		return true
	case *bool:
		if len(v) != 1 || oid != pgtype.BoolOID {
			return false
		}
		*to = v[0] != 0
		return true
	}
	n, ok := integer(oid, v)
	switch to := to.(type) {
	case *int64:
		*to = n
	case *provider.Time:
		*to = provider.Time(n)
	case *provider.Status:
		*to, ok = provider.Status(n), ok && n == int64(provider.Status(n))
	case *provider.ClosePolicy:
		*to, ok = provider.ClosePolicy(n), ok && n == int64(provider.ClosePolicy(n))
	case *provider.MessageKind:
		*to, ok = provider.MessageKind(n), ok && n == int64(provider.MessageKind(n))
	default:
		return false
	}
	return ok
}

// integer decodes a number.
func integer(oid uint32, v []byte) (n int64, ok bool) {
	switch {
	case oid == pgtype.Int8OID && len(v) == 8:
		return int64(binary.BigEndian.Uint64(v)), true
	case oid == pgtype.Int4OID && len(v) == 4:
		return int64(int32(binary.BigEndian.Uint32(v))), true
	case oid == pgtype.Int2OID && len(v) == 2:
		return int64(int16(binary.BigEndian.Uint16(v))), true
	}
	return 0, false
}

// Close implements [pgx.Rows].
func (r *incoming) Close() {
	for r.Next() {
		continue // the remaining rows are not wanted
	}
}

// Err implements [pgx.Rows].
func (r *incoming) Err() error {
	if r.failed != nil {
		return r.failed
	}
	return r.answers.err
}

// Values implements [pgx.Rows].
func (r *incoming) Values() ([]any, error) { return nil, errors.ErrUnsupported }

// RawValues implements [pgx.Rows].
func (r *incoming) RawValues() [][]byte { return r.values }

// FieldDescriptions implements [pgx.Rows].
func (r *incoming) FieldDescriptions() []pgconn.FieldDescription { return r.fields }

// CommandTag implements [pgx.Rows]. Nobody uses it.
func (r *incoming) CommandTag() pgconn.CommandTag { return pgconn.CommandTag{} }

// Conn implements [pgx.Rows].
func (r *incoming) Conn() *pgx.Conn { return r.answers.conn }

// TypeMap implements [pgx.Rows].
func (r *incoming) TypeMap() *pgtype.Map { return r.answers.conn.TypeMap() }

// incomingRow is the first row. It implements [pgx.Row].
type incomingRow incoming

// Scan implements [pgx.Row].
func (r *incomingRow) Scan(dest ...any) error {
	rows := (*incoming)(r)
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}
