package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

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
func (l *leader) prepare(ctx context.Context) (step singleStep, ok bool) {
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

// Limits of calls in transactions of their own.
const (
	maxQuick   = 4  // at once, of those that do not wait for locks
	maxWaiting = 2  // at once, of those that wait for locks
	quickTries = 4  // before a call waits for a lock
	maxTries   = 20 // of a call that finds new needs each time
)

// runOwnTx runs one call in a transaction of its own: because another transaction holds its instance, because it must
// read more than its request shows, or because its group failed.
//
// At first it retries after a pause, without locks meanwhile. Then it waits for the lock, which nobody can hold for
// ever without being overtaken. Renewals never wait: see group.
func (g *group) runOwnTx(pool *pgxpool.Pool, m *relational.Member) {
	ctx, cancel := g.db.bounded(g.ctx)
	defer cancel()
	for held, more, collided := 0, 0, false; ; {
		wait := held > quickTries && len(m.Needs.Peek) == 0
		outcome, err := g.tryOwnTx(ctx, pool, m, wait)
		switch {
		case ctx.Err() != nil || more == maxTries:
		case errors.Is(err, errHeld):
			held++
			if !wait {
				pause(ctx, held)
			}
			continue
		case learns(err): // each try stores or reads some kinds
			continue
		case needsMore(err) || isUnique(err, "instance_"): // another transaction created it meanwhile, which the call will see now
			more++
			continue
		case isUnique(err, "") && !collided: // with rows of an instance that another transaction created meanwhile, or with its own
			collided = true
			continue
		}
		if isUnique(err, "") {
			err = fmt.Errorf("a task or timer of the call exists already: %w", provider.ErrInvalid)
		}
		finish([]*relational.Member{m}, err, outcome)
		return
	}
}

// learns reports whether a try failed for want of kinds, which are known now.
func learns(err error) bool {
	need, ok := errors.AsType[*needError](err)
	return ok && need.kind()
}

// pause waits for the holder of a row to finish.
func pause(ctx context.Context, try int) {
	timer := time.NewTimer(time.Millisecond/2 + rand.N(time.Duration(min(try, 10))*2*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tryOwnTx runs a call once. The needs that it turns out to have are kept for the next try.
func (g *group) tryOwnTx(ctx context.Context, pool *pgxpool.Pool, m *relational.Member, wait bool) (provider.Outcome, error) {
	slots := g.quick
	if wait {
		slots = g.waiting
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return provider.OutcomeNothing, ctx.Err()
	}
	outcome, err := g.commitOwnTx(ctx, pool, m, wait)
	need, ok := errors.AsType[*needError](err)
	if !ok {
		return outcome, err
	}
	if err := g.kinds.learn(ctx, pool, m, need); err != nil {
		return provider.OutcomeNothing, err
	}
	return outcome, err
}

// commitOwnTx is a transaction of one call.
func (g *group) commitOwnTx(ctx context.Context, pool *pgxpool.Pool, m *relational.Member, wait bool) (provider.Outcome, error) {
	conn, err := g.kinds.acquire(ctx, pool)
	if err != nil {
		return provider.OutcomeNothing, err
	}
	defer conn.Release()
	u := g.units.on(ctx, conn.Conn())
	u.single, u.wait = true, wait
	if err := u.begin(m.Needs); err != nil {
		u.rollback()
		return provider.OutcomeNothing, heldBy(err)
	}
	t := u.tx()
	if err := m.Run(t); err != nil {
		u.rollback()
		return provider.OutcomeNothing, heldBy(err)
	}
	err = g.commits.end(u, t)
	return outcomeOf(err), heldBy(err)
}

// heldBy translates the end of a wait for a lock.
func heldBy(err error) error {
	if sqlState(err) == stateLockTimeout {
		return errHeld
	}
	return err
}
