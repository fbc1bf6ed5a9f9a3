package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// A waitingFetch is a fetch that waits in the process. The writer claims for it in the transaction that makes something ready,
// so that work becomes ready and is claimed in one commit.
type waitingFetch struct {
	op string
	// wants reports whether effects may concern it.
	wants func(*tx) bool
	// find reports whether there is something to take. It only reads.
	find func(*tx) (bool, error)
	// take claims in the transaction, and reports whether it got anything.
	take func(*tx) (bool, error)
	// undo gives back what was claimed for a caller that has given up meanwhile.
	undo func(*tx) error

	limited bool          // it may wait for a place in a queue
	lead    time.Duration // how long before something is due it may be taken
	wait    bool          // block while there is nothing
	fresh   bool          // not tried yet
	done    chan struct{}
	err     error

	// Guarded by waiters.mu.
	trying    bool
	found     bool
	abandoned bool
}

// await queues a fetch and waits until it is answered, wait has passed, ctx is finished or the handle is closed. No claim is
// lost: what was taken for a caller that has given up is given back.
func (fs *fetches) await(ctx context.Context, call *waitingFetch, wait time.Duration) error {
	if fs.readOnly {
		return refused(call.op)
	}
	if err := fs.door.Enter(ctx); err != nil {
		return err
	}
	defer fs.door.Leave()
	call.wait, call.fresh, call.done = wait > 0, true, make(chan struct{})
	w := &fs.store.writer.waiters
	if !w.add(call) {
		return provider.ErrClosed
	}
	fs.store.writer.queue.Wake()
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
		w.remove(call, true)
		<-call.done
		return call.err
	case <-ctx.Done():
		if w.remove(call, false) {
			return ctx.Err()
		}
		<-call.done
		return call.err
	case <-fs.door.Closing:
		if w.remove(call, false) {
			return provider.ErrClosed
		}
		<-call.done
		return call.err
	}
}

// waiters has the fetches that wait.
type waiters struct {
	mu      sync.Mutex
	calls   []*waitingFetch
	fresh   bool // one has not been tried
	stopped bool
}

// add adds a call. It returns false if the writer has stopped.
func (w *waiters) add(call *waitingFetch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	w.calls = append(w.calls, call)
	w.fresh = true
	return true
}

// stop refuses the calls that come from now on.
func (w *waiters) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
}

// takeFresh reports once whether a call was added that has not been tried.
func (w *waiters) takeFresh() (fresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh, w.fresh = w.fresh, false
	return fresh
}

// any reports whether a call waits.
func (w *waiters) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.calls) > 0
}

// awaitsPlace reports whether a call may wait for a place in a queue.
func (w *waiters) awaitsPlace() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.calls, func(c *waitingFetch) bool { return c.limited })
}

// remove ends a call that need not wait longer. If the writer is just trying it, a patient caller gets that result; others
// may leave at once (true), and the writer gives back what it takes for them. False: the call is or will be done.
func (w *waiters) remove(call *waitingFetch, patient bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if call.trying {
		if patient {
			call.wait = false
			return false
		}
		call.abandoned = true
		return true
	}
	for i, c := range w.calls {
		if c == call {
			w.calls = append(w.calls[:i], w.calls[i+1:]...)
			close(call.done)
			return !patient
		}
	}
	return false
}

// candidates marks the calls that may have something to take now.
func (w *waiters) candidates(t *tx, all bool) []*waitingFetch {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []*waitingFetch
	for _, c := range w.calls {
		if c.lead > t.schedule.lead {
			t.schedule.lead, t.schedule.stale = c.lead, true
		}
		if all || c.fresh || c.wants(t) {
			c.trying, c.found = true, false
			list = append(list, c)
		}
	}
	return list
}

// vain returns the calls that got nothing and will not wait.
func (w *waiters) vain(tried []*waitingFetch) (list []*waitingFetch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range tried {
		if !c.wait && !c.found && c.err == nil {
			list = append(list, c)
		}
	}
	return list
}

// finish ends the calls that got something, and those that do not wait. It reports whether others were tried in vain
// and wait on, and returns the calls whose claims must be given back.
func (w *waiters) finish(tried []*waitingFetch) (waits bool, abandoned []*waitingFetch) {
	if len(tried) == 0 {
		return false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.calls[:0]
	for _, c := range w.calls {
		if !c.trying {
			rest = append(rest, c)
			continue
		}
		c.trying, c.fresh = false, false
		switch {
		case c.abandoned:
			if c.found {
				abandoned = append(abandoned, c)
			}
			close(c.done)
		case c.found || c.err != nil || !c.wait:
			close(c.done)
		default:
			rest, waits = append(rest, c), true
		}
	}
	clear(w.calls[len(rest):])
	w.calls = rest
	return waits, abandoned
}
