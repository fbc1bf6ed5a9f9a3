package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// A claimer tries the parked fetches in the writer's transaction.
type claimer struct {
	committer  *committer
	tx         *tx // of the committer
	parking    *parking
	complaints *complaints
	met        []*damage // not yet shown on its instances
	unswept    time.Time // until when leases are not swept, because of damage
}

// serve claims for parked calls inside the group's transaction, or in one of its own if a search finds something.
// Damage that it meets asks for a second run, with savepoints.
func (cl *claimer) serve(foreign, savepoints bool) ([]*parked, error) {
	t, a := cl.tx, cl.tx.agenda
	if !cl.committer.begun {
		t.skew = t.clock.skew()
		t.tick()
	}
	all := foreign || a.passed(t.Now, t.Elapsed)
	a.tried = tried{served: true, all: all, now: t.Now, elapsed: t.Elapsed}
	calls := cl.parking.candidates(t, all)
	t.quiet.stir(t)
	if all {
		clear(t.quiet)
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
		try, sweep = cl.tryApart, cl.sweepApart
	}
	if t.Elapsed >= a.elapsed || a.stale {
		if err := sweep(); err != nil {
			return calls, rerunFor(err)
		}
		t.quiet.stir(t)
	}
	for _, c := range calls {
		if c.err != nil { // it failed in the run before
			continue
		}
		if err := try(c); err != nil {
			return calls, rerunFor(err)
		}
	}
	return calls, nil
}

func rerunFor(err error) error {
	if damaged(err) {
		return errRerun
	}
	return err
}

// try claims for one call.
func (cl *claimer) try(c *parked) error {
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

// tryApart is try in a savepoint. Damage that the call meets undoes nothing of others: the
// item is passed over when the group runs again. Damage to what is common to all fails the call.
func (cl *claimer) tryApart(c *parked) error {
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
	if !cl.meet(own) {
		c.err = failed(c.op, own, provider.OutcomeNothing)
	}
	return errRerun
}

// failParked gives a storage error to the calls that were tried.
func failParked(calls []*parked, err error) {
	for _, c := range calls {
		c.err, c.found = failed(c.op, err, outcomeOfAbort(err)), false
	}
}
