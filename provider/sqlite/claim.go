package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// A claimer tries the waiting fetches in the writer's transaction.
type claimer struct {
	committer  *committer
	tx         *tx // of the committer
	waiters    *waiters
	logLimiter *logLimiter
	damages    []*damage // not yet shown on its instances
	sweepAfter time.Time // when leases are swept again, after damage
}

// serve claims for waiting calls inside the group's transaction, or in one of its own if a search finds something.
// Damage that it finds asks for a second run, with savepoints.
func (cl *claimer) serve(changed, savepoints bool) ([]*waitingFetch, error) {
	t, s := cl.tx, cl.tx.schedule
	if !cl.committer.begun {
		t.skew = t.clock.skew()
		t.tick()
	}
	all := changed || s.passed(t.Now, t.Elapsed)
	s.tried = tried{served: true, all: all, now: t.Now, elapsed: t.Elapsed}
	calls := cl.waiters.candidates(t, all)
	t.emptyKinds.invalidate(t)
	if all {
		clear(t.emptyKinds)
	}
	if len(calls) == 0 {
		return nil, nil
	}
	if cl.committer.begun {
		t.tick() // some may have come since the last member began
	}
	if _, err := t.Kinds(); err != nil {
		return calls, err
	}
	try, sweep := cl.try, cl.sweep
	if savepoints {
		try, sweep = cl.tryInSavepoint, cl.sweepInSavepoint
	}
	if t.Elapsed >= s.elapsed || s.stale {
		if err := sweep(); err != nil {
			return calls, rerunFor(err)
		}
		t.emptyKinds.invalidate(t)
	}
	for _, c := range calls {
		if c.err != nil { // it failed in the run before
			continue
		}
		if err := try(c); err != nil {
			return calls, rerunFor(err)
		}
	}
	return calls, rerunFor(cl.tryAgain(calls, try))
}

// tryAgain tries once more the calls that got nothing and will not wait, if another process has stored something since the last poll. It
// may be of a kind that this process does not know. Calls that wait are tried after the next poll.
func (cl *claimer) tryAgain(calls []*waitingFetch, try func(*waitingFetch) error) error {
	t := cl.tx
	vain := cl.waiters.vain(calls)
	if len(vain) == 0 || cl.committer.begun { // a transaction begins with a poll
		return nil
	}
	if err := cl.committer.poll(); err != nil || t.read.current {
		return err
	}
	if _, err := t.Kinds(); err != nil {
		return err
	}
	for _, c := range vain {
		if err := try(c); err != nil {
			return err
		}
	}
	return nil
}

func rerunFor(err error) error {
	if damaged(err) {
		return errRerun
	}
	return err
}

// try claims for one call.
func (cl *claimer) try(c *waitingFetch) error {
	if !cl.committer.begun {
		found, err := c.find(cl.tx)
		if err != nil || !found {
			return err
		}
		if err := cl.committer.begin(); err != nil {
			return err
		}
	}
	found, err := c.take(cl.tx)
	if err != nil {
		return err
	}
	c.found = found
	return cl.tx.Flush()
}

// tryInSavepoint is try in a savepoint. Damage that the call finds undoes nothing of others: the
// item is skipped when the group runs again. Damage to what is common to all fails the call.
func (cl *claimer) tryInSavepoint(c *waitingFetch) error {
	found, own := c.find(cl.tx)
	if own == nil && !found {
		return nil
	}
	if own == nil {
		if err := cl.committer.begin(); err != nil {
			return err
		}
		var err error
		own, err = cl.committer.guard(func() (err error) {
			c.found, err = c.take(cl.tx)
			return err
		})
		if own == nil {
			return err
		}
	}
	c.found = false
	if !damaged(own) {
		return own
	}
	if !cl.noteDamage(own) {
		c.err = failed(c.op, own, provider.OutcomeNothing)
	}
	return errRerun
}

// failWaiting gives a storage error to the calls that were tried.
func failWaiting(calls []*waitingFetch, err error) {
	for _, c := range calls {
		c.err, c.found = failed(c.op, err, outcomeOfAbort(err)), false
	}
}
