package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// exchange sends a batch and reads its results in one round trip.
func (db *database) exchange(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) (err error) {
	if !db.fuses || conn.IsClosed() || ctx.Err() != nil || b.Len() == 0 {
		return conn.SendBatch(ctx, b).Close()
	}
	out, a := outgoingOn(conn), newAnswers(ctx, conn, b.Len())
	texts := make([]string, len(b.QueuedQueries))
	for i, query := range b.QueuedQueries {
		texts[i] = query.SQL
	}
	if err := out.prepare(ctx, texts...); err != nil {
		return err
	}
	for _, query := range b.QueuedQueries {
		known, err := out.add(query.SQL, query.Arguments)
		if err != nil {
			return err
		}
		a.known = append(a.known, known)
	}
	if len(out.bytes) > maxOutgoing {
		return conn.SendBatch(ctx, b).Close() // it reads while it writes
	}
	socket := conn.PgConn().Conn()
	stop := interrupting(ctx, socket)
	over := false
	defer func() { // even if reading a row panics
		if stop() || !over || useless(err) {
			_ = conn.Close(ctx) // the connection is closed in any case
		}
	}()
	if err = out.send(); err == nil {
		err = a.receive(b)
	}
	over = true
	return err
}

// pooled is exchange on any connection.
func (db *database) pooled(ctx context.Context, b *pgx.Batch) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return db.exchange(ctx, conn.Conn(), b)
}

// answers are the results of a batch, in the order of its statements. They implement [pgx.BatchResults].
type answers struct {
	ctx   context.Context //nolint:containedctx // one for all messages: exchange has watched the caller's before
	conn  *pgx.Conn
	known []*pgconn.StatementDescription
	next  int
	rows  incoming // of the statement before
	err   error    // no later statement has a result
	ready bool     // the server has sent everything
}

func newAnswers(ctx context.Context, conn *pgx.Conn, n int) *answers {
	return &answers{ctx: context.WithoutCancel(ctx), conn: conn, known: make([]*pgconn.StatementDescription, 0, n)}
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
	a.rows = incoming{answers: a, fields: a.known[a.next].Fields, closed: a.err != nil}
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
