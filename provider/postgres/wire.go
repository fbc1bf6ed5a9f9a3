package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

// A lone step speaks to the server by messages of its own: a batch of the driver would look up how to write each parameter, and set a timer
// against a server that does not read, which wakes another thread.

// binaryFormat is that of all parameters and columns.
var binaryFormat = []int16{pgtype.BinaryFormatCode} //nolint:gochecknoglobals // constant

// answer is the row of a lone step, as far as it was read.
type answer struct {
	now     provider.Time
	xid     uint32
	freed   []int64 // kinds of leased tasks that were removed with their execution
	refused error
}

// commitFused runs a lone step.
func (u *unit) commitFused(step loneStep) (xid uint32, err error) {
	var a answer
	if err = u.p.ask(u.ctx, u.conn, step); err == nil {
		err = a.receive(u.ctx, u.conn.PgConn())
	}
	return u.heard(&a, err)
}

// heard takes note of an answer. A connection on which none came, though something was sent, is of no use any more.
func (u *unit) heard(a *answer, err error) (xid uint32, _ error) {
	if _, torn := errors.AsType[*unanswered](err); torn {
		_ = u.conn.Close(u.ctx) // it is closed whatever this answers
	}
	if err != nil {
		return 0, err
	}
	u.p.warm.clock.heard(a.now)
	for _, kind := range a.freed {
		u.free(kind)
	}
	return a.xid, nil
}

// ask sends a lone step, which is a transaction of its own.
func (p *Provider) ask(ctx context.Context, conn *pgx.Conn, step loneStep) error {
	values, err := encoded(step.args)
	if err != nil {
		return err
	}
	prepared, err := conn.Prepare(ctx, step.sql, step.sql)
	if err != nil {
		return err
	}
	f := conn.PgConn().Frontend()
	if !p.settled {
		settings, err := conn.Prepare(ctx, sqlByIndex, sqlByIndex)
		if err != nil {
			return err
		}
		f.SendBind(&pgproto3.Bind{PreparedStatement: settings.Name, ResultFormatCodes: binaryFormat})
		f.SendExecute(&pgproto3.Execute{})
	}
	f.SendBind(&pgproto3.Bind{
		PreparedStatement: prepared.Name, Parameters: values, ParameterFormatCodes: binaryFormat, ResultFormatCodes: binaryFormat,
	})
	f.SendExecute(&pgproto3.Execute{})
	f.SendSync(&pgproto3.Sync{})
	socket := conn.PgConn().Conn() // whose caller cannot give up before all is sent
	if err = socket.SetWriteDeadline(time.Now().Add(p.opts.Timeout)); err == nil {
		err = errors.Join(f.Flush(), socket.SetWriteDeadline(time.Time{}))
	}
	if err != nil {
		return &unanswered{err}
	}
	return nil
}

// receive reads until the transaction is over. After a context that has ended it may be called again.
func (a *answer) receive(ctx context.Context, conn *pgconn.PgConn) error {
	for {
		message, err := conn.ReceiveMessage(ctx)
		if err != nil {
			return &unanswered{err}
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			a.read(m.Values)
		case *pgproto3.ErrorResponse:
			a.refused = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return a.refused
		}
	}
}

// read takes what a row of sqlFused tells; that of the settings, which comes before, has fewer columns.
func (a *answer) read(columns [][]byte) {
	const now, xid, fewest, long = 1, 3, 4, 8
	if len(columns) < fewest || len(columns[now]) != long || len(columns[xid]) != long {
		return
	}
	a.now = provider.Time(binary.BigEndian.Uint64(columns[now]))
	a.xid = uint32(binary.BigEndian.Uint64(columns[xid]))
	for kind := range strings.FieldsSeq(string(columns[len(columns)-1])) {
		id, _ := strconv.ParseInt(kind, 10, 64) // it is a number
		a.freed = append(a.freed, id)
	}
}

// unanswered is the end of a connection before its answer. It hides what the driver says about repeating: something was sent.
type unanswered struct{ cause error }

func (e *unanswered) Error() string { return "no answer: " + e.cause.Error() }

// encoded answers parameters in the binary format.
func encoded(args []any) ([][]byte, error) {
	const long = 16
	values, room := make([][]byte, len(args)), make([]byte, 0, long*len(args))
	for i, arg := range args {
		from := len(room)
		switch v := arg.(type) {
		case nil:
			continue
		case pgtype.UUID:
			if !v.Valid {
				continue
			}
			room = append(room, v.Bytes[:]...)
		case int64:
			room = binary.BigEndian.AppendUint64(room, uint64(v))
		case int16:
			room = binary.BigEndian.AppendUint16(room, uint16(v))
		case pgtype.Uint32:
			room = binary.BigEndian.AppendUint32(room, v.Uint32)
		case bool:
			var b byte
			if v {
				b = 1
			}
			room = append(room, b)
		case string:
			room = append(room, v...)
		case []byte:
			values[i] = v
			continue
		default:
			return nil, fmt.Errorf("a parameter of type %T has no form: %w", arg, provider.ErrInvalid)
		}
		values[i] = room[from:len(room):len(room)]
	}
	return values, nil
}
