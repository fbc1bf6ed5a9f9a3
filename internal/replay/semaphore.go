package replay

import (
	"container/list"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/perdure/perdure/internal/failure"
)

// Semaphore bounds how many units the coroutines of an execution hold at a time. Those that wait get theirs in the order in which
// they came. It records no event, as who holds what follows from the order in which code runs. The zero Semaphore is ready for use.
type Semaphore struct {
	x       atomic.Pointer[core] // of the first Acquire; nil: none
	size    int64
	used    int64
	holders []holder  // oldest first
	queue   list.List // of *acquirer
	broken  error     // a holder has ended, so nobody gets units any more
}

// holder is a coroutine that holds units.
type holder struct {
	co *coroutine
	n  int64
}

// acquirer is a call of Acquire that waits.
type acquirer struct {
	co      *coroutine
	scope   *Scope
	n       int64
	granted bool
	done    *Future // settled when it waits no longer
	of      *Semaphore
	place   *list.Element // in the queue
}

// lose implements held. One that never continues must not keep others from what is free.
func (a *acquirer) lose() {
	if !a.done.settled {
		a.of.queue.Remove(a.place)
		a.of.handOver()
	}
}

// Acquire waits until n of size units are free and nobody waits who came before. size is the same in each call, and n is at most size.
// The running coroutine then holds them, until it or another one releases them. With an error it holds none: the scope is over, or a
// coroutine has ended that held units.
//
// A Semaphore of another execution fails the turn: its state does not follow from the history.
func (m *Semaphore) Acquire(s *Scope, size, n int64) error {
	co := s.x.sched.enter()
	if !m.x.CompareAndSwap(nil, s.x) && m.x.Load() != s.x {
		s.x.sched.abort(fmt.Errorf("a lock of another execution is used at %s: make it in the function of the orchestration, not in a package variable",
			callerOutside()))
	}
	m.size = size
	if err := s.over(); err != nil {
		return err
	}
	if m.broken != nil {
		return m.broken
	}
	if m.queue.Len() == 0 && n <= m.size-m.used {
		m.take(co, n)
		return nil
	}
	a := &acquirer{co: co, scope: s, n: n, done: &Future{x: s.x}, of: m}
	a.place = m.queue.PushBack(a)
	co.sched.holds(co, a)
	_, err := s.Wait(a.done)
	co.sched.holdsNoMore(co, a)
	switch {
	case a.granted:
		return nil // although the scope may have ended since
	case a.done.settled:
		return a.done.err
	}
	m.queue.Remove(a.place)
	m.handOver() // it may have stood before one that wants less
	return err
}

// Release gives back n units: those of the running coroutine first, then those that are held longest. It reports whether so many are held.
func (m *Semaphore) Release(n int64) bool {
	x := m.x.Load()
	if x == nil {
		return false
	}
	co := x.sched.enter()
	if n > m.used {
		return false
	}
	m.used -= n
	for from := max(0, m.heldBy(co)); n > 0; from = 0 {
		h := &m.holders[from]
		back := min(n, h.n)
		h.n, n = h.n-back, n-back
		if h.n == 0 {
			x.sched.holdsNoMore(h.co, m)
			m.holders = slices.Delete(m.holders, from, from+1)
		}
	}
	m.handOver()
	return true
}

// heldBy returns the place of a coroutine among the holders, -1 for none.
func (m *Semaphore) heldBy(co *coroutine) int {
	return slices.IndexFunc(m.holders, func(h holder) bool { return h.co == co })
}

// take gives units to a coroutine.
func (m *Semaphore) take(co *coroutine, n int64) {
	m.used += n
	if i := m.heldBy(co); i >= 0 {
		m.holders[i].n += n
		return
	}
	m.holders = append(m.holders, holder{co, n})
	co.sched.holds(co, m)
}

// handOver gives free units to those that wait, first come first. It passes those whose scope is over and those that never continue.
func (m *Semaphore) handOver() {
	for e := m.queue.Front(); e != nil; e = m.queue.Front() {
		a := e.Value.(*acquirer)
		over := a.scope.over()
		if !a.co.over && over == nil && a.n > m.size-m.used {
			return
		}
		m.queue.Remove(e)
		if a.co.over {
			continue
		}
		if over == nil {
			m.take(a.co, a.n)
			a.granted = true
		}
		a.done.err = over
		a.done.settle()
	}
}

// lose implements held. Nobody can count on the units of a coroutine that has ended to be released.
func (m *Semaphore) lose() {
	m.broken = m.x.Load().env.Errors.New(failure.ErrInvalid,
		"a coroutine has ended while it held the lock: release it before the function of the coroutine returns, best in a deferred call")
	for e := m.queue.Front(); e != nil; e = m.queue.Front() {
		a := e.Value.(*acquirer)
		m.queue.Remove(e)
		a.done.err = m.broken
		a.done.settle()
	}
}
