package sqlite

import (
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// fetches are the calls that claim work, and wait until there is some.
type fetches struct{ *handle }

// A parked call is a fetch that waits in the process. The writer claims for it in the
// transaction that makes something ready, so that being told and having it are one commit.
type parked struct {
	op string
	// wants tells whether effects may concern it.
	wants func(*tx) bool
	// find tells, by reading only, whether there is something to take.
	find func(*tx) (bool, error)
	// take claims in the transaction, and tells whether it got anything.
	take func(*tx) (bool, error)
	// undo gives back what was claimed for a caller that had gone meanwhile.
	undo func(*tx) error

	limited bool          // it may wait for a place in a queue
	lead    time.Duration // how long before something is due it may be taken
	wait    bool          // block while there is nothing
	fresh   bool          // not tried yet
	done    chan struct{}
	err     error

	// Guarded by writer.mu.
	trying bool
	found  bool
	gone   bool
}

// park queues a fetch and waits until it is answered, wait has passed, ctx is finished or
// the handle is closed. A claim is never lost: what was taken for a caller that had gone
// is given back.
func (fs *fetches) park(ctx context.Context, call *parked, wait time.Duration) error {
	if fs.readOnly {
		return refused(call.op)
	}
	if err := fs.door.Enter(ctx); err != nil {
		return err
	}
	defer fs.door.Leave()
	call.wait, call.fresh, call.done = wait > 0, true, make(chan struct{})
	w := fs.store.writer
	if !w.admit(call) {
		return provider.ErrClosed
	}
	var timeout <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(min(wait, provider.MaxWait))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-call.done:
		return call.err
	case <-timeout:
		w.dismiss(call, true)
		<-call.done
		return call.err
	case <-ctx.Done():
		if w.dismiss(call, false) {
			return ctx.Err()
		}
		<-call.done
		return call.err
	case <-fs.door.Closing:
		if w.dismiss(call, false) {
			return provider.ErrClosed
		}
		<-call.done
		return call.err
	}
}

// admit parks a call; false if the writer has stopped.
func (w *writer) admit(call *parked) bool {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return false
	}
	w.parked = append(w.parked, call)
	w.fresh = true
	w.mu.Unlock()
	w.queue.Poke()
	return true
}

// dismiss ends a call that need not wait longer. With patience a call that the writer is
// just trying gets that answer; without, its caller may leave at once (true) and the
// writer gives back what it takes for it. False: the call is or will be done.
func (w *writer) dismiss(call *parked, patient bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if call.trying {
		if patient {
			call.wait = false
			return false
		}
		call.gone = true
		return true
	}
	for i, c := range w.parked {
		if c == call {
			w.parked = append(w.parked[:i], w.parked[i+1:]...)
			close(call.done)
			return !patient
		}
	}
	return false
}

// awaitsPlace tells whether a call waits for more than tasks.
func (w *writer) awaitsPlace() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.parked, func(c *parked) bool { return c.limited })
}

// candidates marks the parked calls that may have something to take now.
func (w *writer) candidates(all bool) []*parked {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*parked
	for _, c := range w.parked {
		if c.lead > w.due.lead {
			w.due.lead, w.due.stale = c.lead, true
		}
		if all || c.fresh || c.wants(w.tx) {
			c.trying, c.found = true, false
			list = append(list, c)
		}
	}
	return list
}

// serve claims for parked calls inside the group's transaction, or in one of its own if
// a look shows that there is something. What it meets of damage is for a second run, with savepoints.
func (w *writer) serve(savepoints bool) ([]*parked, error) {
	t := w.tx
	if !w.begun {
		t.skew = w.store.clock.skew()
		t.tick()
	}
	all := w.foreign.changed || w.due.passed(t)
	w.tried = tried{served: true, all: all, now: t.Now, elapsed: t.Elapsed}
	calls := w.candidates(all)
	t.quiet.stir(t)
	if all {
		clear(t.quiet)
	}
	if len(calls) == 0 {
		return nil, nil
	}
	if w.begun {
		t.tick() // some may have come since the last member began
	}
	if _, err := t.Kinds(); err != nil {
		return calls, err
	}
	try, sweep := w.try, w.sweep
	if savepoints {
		try, sweep = w.tryApart, w.sweepApart
	}
	if t.Elapsed >= w.due.elapsed || w.due.stale {
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
func (w *writer) try(c *parked) error {
	t := w.tx
	if !w.begun {
		found, err := c.find(t)
		if err != nil || !found {
			return err
		}
		if err := w.begin(); err != nil {
			return err
		}
	}
	found, err := c.take(t)
	if err != nil {
		return err
	}
	c.found = found
	return t.Flush()
}

// failParked gives a storage error to the calls that were tried.
func (w *writer) failParked(calls []*parked, err error) {
	for _, c := range calls {
		c.err, c.found = failed(c.op, err, outcomeOfAbort(err)), false
	}
}

// answer ends the calls that got something, and those that do not wait. It reports whether others were tried in vain
// and wait on.
func (w *writer) answer(calls []*parked) (waits bool) {
	if len(calls) == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.parked[:0]
	for _, c := range w.parked {
		if !c.trying {
			rest = append(rest, c)
			continue
		}
		c.trying, c.fresh = false, false
		switch {
		case c.gone:
			if c.found {
				w.later(c.op, c.undo)
			}
			close(c.done)
		case c.found || c.err != nil || !c.wait:
			close(c.done)
		default:
			rest, waits = append(rest, c), true
		}
	}
	clear(w.parked[len(rest):])
	w.parked = rest
	return waits
}
