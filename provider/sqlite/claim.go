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

// failParked gives a storage error to the calls that were tried.
func failParked(calls []*parked, err error) {
	for _, c := range calls {
		c.err, c.found = failed(c.op, err, outcomeOfAbort(err)), false
	}
}

// sweepBatch is how many expired leases of each sort one transaction ends.
const sweepBatch = 1000

const (
	sqlLapsedTurns = `SELECT key FROM perdure_instance WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
	sqlLapsedTasks = `SELECT key, execution, event_id FROM perdure_task
		WHERE lease_until > 0 AND lease_until <= ? ORDER BY lease_until LIMIT ?`
)

// sweep ends expired leases, so that fetches find their items again.
func (cl *claimer) sweep() error {
	t, shuns := cl.tx, cl.tx.agenda.shuns
	var turns []provider.UUID
	err := t.each(sqlLapsedTurns, func(r *row) error {
		if key := r.uuid(0); !shuns.has(provider.TaskRef{Key: key}) {
			turns = append(turns, key)
		}
		return nil
	}, t.Elapsed, sweepBatch)
	if err != nil {
		return err
	}
	var tasks []provider.TaskRef // by the index alone: a damaged row among them has a name then
	err = t.each(sqlLapsedTasks, func(r *row) error {
		ref := provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)}
		if !shuns.has(ref) {
			tasks = append(tasks, ref)
		}
		return nil
	}, t.Elapsed, sweepBatch)
	if err != nil || len(turns)+len(tasks) == 0 {
		return err
	}
	if err := cl.committer.begin(); err != nil {
		return err
	}
	for _, key := range turns {
		h, err := t.Head(key)
		if err != nil {
			return damageTo(provider.TaskRef{Key: key}, err)
		}
		if h != nil && h.LeaseUntil <= t.Elapsed {
			h.LeaseUntil = 0 // the token stays: it holds the instance until another fetch takes it
			t.TouchWide(h)
		}
	}
	for _, ref := range tasks {
		if err := t.requeue(ref); err != nil {
			return damageTo(ref, err)
		}
	}
	return t.Flush()
}
