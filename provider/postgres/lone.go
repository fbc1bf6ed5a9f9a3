package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// lead has the caller of a lone step commit it, if nobody else calls: to wake a committer and to be woken by it rouses an idle thread
// each time. It answers false if that cannot be; then nothing has happened.
func (w *writer) lead(ctx context.Context, m *relational.Member) (done bool, err error) {
	l := &leader{w: w, group: []*relational.Member{m}}
	if !w.p.fuses || !mayBeLone(&m.Needs) || !w.crowd.alone(w.queue, l.group) {
		return false, nil
	}
	bounded, cancel := w.p.led(ctx)
	defer cancel()
	step, ok := l.prepare(bounded)
	if !ok {
		l.end()
		return false, nil
	}
	if err := w.p.ask(bounded, l.u.conn, step); err != nil {
		return l.conclude(err), m.Err
	}
	err = l.answer.receive(bounded, l.u.conn.PgConn())
	if err == nil || ctx.Err() == nil || sqlState(err) != "" {
		return l.conclude(err), m.Err
	}
	w.ended.Go(l.follow)
	return true, &provider.Error{Op: m.Op, Outcome: provider.OutcomeUnknown, Retryable: true, Err: ctx.Err()}
}

// A leader is a lone step that its caller commits.
type leader struct {
	w      *writer
	group  []*relational.Member
	conn   *pgxpool.Conn
	u      *unit
	t      *relational.Tx
	made   []provider.UUID
	answer answer
}

// prepare makes the statement; false if a committer must take the call.
func (l *leader) prepare(ctx context.Context) (step loneStep, ok bool) {
	var err error
	if l.conn, err = l.w.p.pool.Acquire(ctx); err != nil {
		return step, false
	}
	if l.w.p.kinds.stale.Load() { // maybe because of this connection
		l.conn.Release()
		l.conn = nil
		return step, false
	}
	l.u = l.w.known(ctx, l.conn.Conn())
	if l.t, _ = l.u.recall(l.group); l.t == nil {
		return step, false
	}
	if step, ok = l.u.fuse(&l.t.Effects); ok {
		l.made = l.u.made()
		l.w.p.hub.Made(l.made) // before others can end them
	}
	return step, ok
}

// follow waits for an answer that the caller has not waited for.
func (l *leader) follow() {
	ctx := l.w.p.calling.Context()
	l.u.ctx = ctx
	l.conclude(l.answer.receive(ctx, l.u.conn.PgConn()))
}

func (l *leader) conclude(err error) (done bool) {
	xid, err := l.u.heard(&l.answer, err)
	if err != nil {
		l.u.unmade(l.made)
	}
	done = l.w.warmed(l.u, l.t, l.group, &l.group[0].Needs, warmCommit{xid: xid, err: err})
	l.end()
	return done
}

// end lets others go on.
func (l *leader) end() {
	if l.conn != nil {
		l.w.reuse(l.u)
		l.conn.Release()
	}
	l.w.crowd.leave(l.group)
	if l.w.queue.Len() > 0 {
		l.w.queue.Poke()
	}
}
