package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/perdure/perdure/provider"
)

// answer is the row of a single step, as far as it was read.
type answer struct {
	now     provider.Time
	xid     uint32
	freed   []int64 // kinds of leased tasks that were removed with their execution
	refused error
}

// sendStep sends a single step, which is a transaction of its own.
func (db *database) sendStep(ctx context.Context, conn *pgx.Conn, step boundStatement) error {
	out := outgoingOn(conn)
	if !db.settled {
		if err := out.prepare(ctx, sqlByIndex, step.sql); err != nil {
			return err
		}
		if _, err := out.add(sqlByIndex, nil); err != nil {
			return err
		}
	}
	return db.send(ctx, out, step)
}

// exec runs a statement without results on a connection for notifications.
func (db *database) exec(ctx context.Context, conn *pgx.Conn, step boundStatement) error {
	if !db.wireProtocol || db.opts.ListenURL != "" {
		_, err := conn.Exec(ctx, step.sql, step.args...)
		return err
	}
	if err := db.send(ctx, outgoingOn(conn), step); err != nil {
		return err
	}
	return new(answer).receive(ctx, conn.PgConn())
}

// send sends a statement after what was added before.
func (db *database) send(ctx context.Context, out *outgoing, step boundStatement) error {
	if err := out.prepare(ctx, step.sql); err != nil {
		return err
	}
	if _, err := out.add(step.sql, step.args); err != nil {
		return err
	}
	socket := out.conn.PgConn().Conn() // its caller cannot give up before everything is sent
	if err := socket.SetWriteDeadline(time.Now().Add(db.opts.Timeout)); err != nil {
		return &unanswered{cause: err, unsent: true}
	}
	if err := out.send(); err != nil {
		return err
	}
	if err := socket.SetWriteDeadline(time.Time{}); err != nil {
		return &unanswered{cause: err}
	}
	return nil
}

// receive reads until the transaction is over. It may be called again after its context has ended.
func (a *answer) receive(ctx context.Context, conn *pgconn.PgConn) error {
	defer interrupting(ctx, conn.Conn())()
	watched := context.WithoutCancel(ctx) // one watch for all messages
	for {
		message, err := conn.ReceiveMessage(watched)
		if err != nil {
			return &unanswered{cause: err}
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

// read decodes a row of sqlOneStatement. The row of the settings, which comes before, has fewer columns.
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

// unanswered is the end of a connection before its result.
type unanswered struct {
	cause  error
	unsent bool
}

func (e *unanswered) Error() string { return "no answer: " + e.cause.Error() }

// SafeToRetry reports whether nothing was sent, whatever the driver says about the cause.
func (e *unanswered) SafeToRetry() bool { return e.unsent }

// useless reports whether a connection is useless after an error: its results cannot be told from later ones, or its
// statements were changed.
func useless(err error) bool {
	_, torn := errors.AsType[*unanswered](err)
	return torn || sqlState(err) == stateNoStatement || sqlState(err) == stateOldPlan
}

// interrupting makes waits on a socket fail when a context ends, until stop is called. stop restores the socket and
// reports whether that happened.
func interrupting(ctx context.Context, socket net.Conn) (stop func() (interrupted bool)) {
	var over sync.WaitGroup
	over.Add(1)
	release := context.AfterFunc(ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0))
		over.Done()
	})
	return func() bool {
		if release() {
			return false
		}
		over.Wait()
		_ = socket.SetDeadline(time.Time{})
		return true
	}
}
