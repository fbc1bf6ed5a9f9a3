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
	for held, more := 0, 0; ; {
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
	u.ownTx, u.wait = true, wait
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
