package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// exchange sends a batch and reads its results in one round trip.
func (db *database) exchange(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) (err error) {
	if !db.wireProtocol || conn.IsClosed() || ctx.Err() != nil || b.Len() == 0 {
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
		a.statements = append(a.statements, known)
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
