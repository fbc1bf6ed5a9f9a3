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

// How calls run that no group could take.
const (
	maxQuick   = 4  // at once, of those that wait for no lock
	maxWaiting = 2  // at once, of those that wait for one
	quickTries = 4  // before a call waits for the lock that it did not get
	maxTries   = 20 // of a call that finds each time that it needs more
)

// byItself runs one call in a transaction of its own: because another transaction holds its instance, because it must look
// at more than its request told, or because its group failed.
//
// At first it tries again after a while, holding nothing meanwhile. Then it waits for the lock,
// which nobody can hold for ever without being overtaken. Renewals never wait: see writer.
func (w *writer) byItself(pool *pgxpool.Pool, m *relational.Member) {
	ctx, cancel := w.p.bounded(w.ctx)
	defer cancel()
	for held, more := 0, 0; ; {
		wait := held > quickTries && len(m.Needs.Peek) == 0
		outcome, err := w.tryAlone(ctx, pool, m, wait)
		switch {
		case ctx.Err() != nil || more == maxTries:
		case errors.Is(err, errHeld):
			held++
			if !wait {
				pause(ctx, held)
			}
			continue
		case needsMore(err) || isUnique(err, "instance_"): // another one made it meanwhile, which the call will see now
			more++
			continue
		}
		if isUnique(err, "") {
			err = fmt.Errorf("a task or timer of the call is there already: %w", provider.ErrInvalid)
		}
		finish([]*relational.Member{m}, err, outcome)
		return
	}
}

// pause lets whoever holds a row finish.
func pause(ctx context.Context, try int) {
	timer := time.NewTimer(time.Millisecond/2 + rand.N(time.Duration(min(try, 10))*2*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// tryAlone runs a call once. What it turned out to need is remembered for the next time.
func (w *writer) tryAlone(ctx context.Context, pool *pgxpool.Pool, m *relational.Member, wait bool) (provider.Outcome, error) {
	slots := w.quick
	if wait {
		slots = w.waiting
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return provider.OutcomeNothing, ctx.Err()
	}
	outcome, err := w.runAlone(ctx, pool, m, wait)
	need, ok := errors.AsType[*needError](err)
	if !ok {
		return outcome, err
	}
	if err := w.p.learn(ctx, pool, m, need); err != nil {
		return provider.OutcomeNothing, err
	}
	return outcome, err
}

// runAlone is a transaction of one call.
func (w *writer) runAlone(ctx context.Context, pool *pgxpool.Pool, m *relational.Member, wait bool) (provider.Outcome, error) {
	conn, err := w.p.acquire(ctx, pool)
	if err != nil {
		return provider.OutcomeNothing, err
	}
	defer conn.Release()
	u := newUnit(ctx, w.p, conn.Conn())
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
	err = w.end(u, t)
	return outcomeOf(err), heldBy(err)
}

// heldBy turns the end of a wait into what it means.
func heldBy(err error) error {
	if sqlState(err) == stateLockTimeout {
		return errHeld
	}
	return err
}
