package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// lead makes the caller of a single step commit it, if no other call waits. Waking a committer and being woken by it
// would wake an idle thread each time. It returns false if that is impossible; then nothing happened.
func (g *group) lead(ctx context.Context, m *relational.Member) (done bool, err error) {
	l := &leader{g: g, members: []*relational.Member{m}}
	if !g.db.wireProtocol || !mayBeSingleStep(&m.Needs) || !g.scheduler.takeSingle(g.queue, l.members) {
		return false, nil
	}
	bounded, cancel := g.db.boundedShort(ctx)
	defer cancel()
	step, ok := l.prepare(bounded)
	if !ok {
		l.end()
		return false, nil
	}
	if err := g.db.sendStep(bounded, l.u.conn, step); err != nil {
		return l.conclude(err), m.Err
	}
	err = l.answer.receive(bounded, l.u.conn.PgConn())
	if err == nil || ctx.Err() == nil || sqlState(err) != "" {
		return l.conclude(err), m.Err
	}
	g.ended.Go(l.follow)
	return true, &provider.Error{Op: m.Op, Outcome: provider.OutcomeUnknown, Retryable: true, Err: ctx.Err()}
}

// leader is a single step that its caller commits.
type leader struct {
	g       *group
	members []*relational.Member
	conn    *pgxpool.Conn
	u       *unit
	t       *relational.Tx
	created []provider.UUID
	answer  answer
}

// prepare builds the statement. It returns false if a committer must take the call.
func (l *leader) prepare(ctx context.Context) (step boundStatement, ok bool) {
	var err error
	if l.conn, err = l.g.db.pool.Acquire(ctx); err != nil {
		return step, false
	}
	if l.g.kinds.stale.Load() { // maybe because of this connection
		l.conn.Release()
		l.conn = nil
		return step, false
	}
	l.u = l.g.units.on(ctx, l.conn.Conn())
	if l.t, _ = l.g.judgeCached(l.u, l.members); l.t == nil {
		return step, false
	}
	if step, ok = l.g.commits.oneStatement(l.u, &l.t.Effects); ok {
		l.created = l.g.commits.created(l.u)
		l.g.commits.hub.MarkAlive(l.created) // before others can end them
	}
	return step, ok
}

// follow waits for a result that the caller did not wait for.
func (l *leader) follow() {
	ctx := l.g.db.calling.Context()
	l.u.ctx = ctx
	l.conclude(l.answer.receive(ctx, l.u.conn.PgConn()))
}

func (l *leader) conclude(err error) (done bool) {
	xid, err := l.u.takeResult(&l.answer, err)
	if err != nil {
		l.g.commits.creationUnknown(l.created)
	}
	done = l.g.finishCached(l.u, l.t, l.members, &l.members[0].Needs, cachedCommit{xid: xid, err: err})
	l.end()
	return done
}

// end lets other groups run.
func (l *leader) end() {
	if l.conn != nil {
		l.conn.Release()
	}
	l.g.scheduler.release(l.members)
	if l.g.queue.Len() > 0 {
		l.g.queue.Wake()
	}
}
