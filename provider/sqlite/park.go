package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// A parked call is a fetch that waits in the process. The writer claims for it in the transaction that makes something ready,
// so that work becomes ready and is claimed in one commit.
type parked struct {
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

	// Guarded by parking.mu.
	trying bool
	found  bool
	gone   bool
}

// park queues a fetch and waits until it is answered, wait has passed, ctx is finished or the handle is closed. No claim is
// lost: what was taken for a caller that has given up is given back.
func (fs *fetches) park(ctx context.Context, call *parked, wait time.Duration) error {
	if fs.readOnly {
		return refused(call.op)
	}
	if err := fs.door.Enter(ctx); err != nil {
		return err
	}
	defer fs.door.Leave()
	call.wait, call.fresh, call.done = wait > 0, true, make(chan struct{})
	p := &fs.store.writer.parking
	if !p.admit(call) {
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
		p.dismiss(call, true)
		<-call.done
		return call.err
	case <-ctx.Done():
		if p.dismiss(call, false) {
			return ctx.Err()
		}
		<-call.done
		return call.err
	case <-fs.door.Closing:
		if p.dismiss(call, false) {
			return provider.ErrClosed
		}
		<-call.done
		return call.err
	}
}

// parking has the fetches that wait.
type parking struct {
	mu      sync.Mutex
	calls   []*parked
	fresh   bool // one has not been tried
	stopped bool
}

// admit parks a call. It returns false if the writer has stopped.
func (p *parking) admit(call *parked) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	p.calls = append(p.calls, call)
	p.fresh = true
	return true
}

// stop refuses the calls that come from now on.
func (p *parking) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
}

// takeFresh reports once whether a call was parked that has not been tried.
func (p *parking) takeFresh() (fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh, p.fresh = p.fresh, false
	return fresh
}

// any reports whether a call waits.
func (p *parking) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls) > 0
}

// awaitsPlace reports whether a call may wait for a place in a queue.
func (p *parking) awaitsPlace() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.calls, func(c *parked) bool { return c.limited })
}

// dismiss ends a call that need not wait longer. If the writer is just trying it, a patient caller gets that result; others
// may leave at once (true), and the writer gives back what it takes for them. False: the call is or will be done.
func (p *parking) dismiss(call *parked, patient bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if call.trying {
		if patient {
			call.wait = false
			return false
		}
		call.gone = true
		return true
	}
	for i, c := range p.calls {
		if c == call {
			p.calls = append(p.calls[:i], p.calls[i+1:]...)
			close(call.done)
			return !patient
		}
	}
	return false
}

// candidates marks the calls that may have something to take now.
func (p *parking) candidates(t *tx, all bool) []*parked {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*parked
	for _, c := range p.calls {
		if c.lead > t.agenda.lead {
			t.agenda.lead, t.agenda.stale = c.lead, true
		}
		if all || c.fresh || c.wants(t) {
			c.trying, c.found = true, false
			list = append(list, c)
		}
	}
	return list
}

// answer ends the calls that got something, and those that do not wait. It reports whether others were tried in vain
// and wait on, and returns the calls whose claims must be given back.
func (p *parking) answer(tried []*parked) (waits bool, gone []*parked) {
	if len(tried) == 0 {
		return false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := p.calls[:0]
	for _, c := range p.calls {
		if !c.trying {
			rest = append(rest, c)
			continue
		}
		c.trying, c.fresh = false, false
		switch {
		case c.gone:
			if c.found {
				gone = append(gone, c)
			}
			close(c.done)
		case c.found || c.err != nil || !c.wait:
			close(c.done)
		default:
			rest, waits = append(rest, c), true
		}
	}
	clear(p.calls[len(rest):])
	p.calls = rest
	return waits, gone
}
