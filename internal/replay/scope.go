package replay

import (
	"container/list"
	"time"

	"github.com/perdure/perdure/internal/failure"
)

// Scope is a cancellation scope of an execution's code. Operations begun in it are given
// up when it is cancelled; so are its child scopes. Only the running coroutine may use it.
type Scope struct {
	x        *Execution
	parent   *Scope
	place    *list.Element // in parent.children
	open     list.List     // open futures, in order of their making
	children list.List     // open child scopes
	waiting  waitList
	done     bool // its code has returned
	detached bool // for cleaning up: it may use what is reserved for the end
	err      error
}

// Err is nil until the scope is over, then the reason.
func (s *Scope) Err() error {
	s.x.look()
	return s.over()
}

// over answers why nothing can be begun in the scope any more, or nil.
func (s *Scope) over() error {
	if s.err != nil {
		return s.err
	}
	return s.returned()
}

// returned refuses what is begun in the scope of a coroutine that has returned: it would belong to nobody.
func (s *Scope) returned() error {
	if s.done && s.x.settings.Flags&flagScopes != 0 {
		return s.x.env.Errors.New(failure.ErrInvalid,
			"the context of a coroutine is used after its function has returned: use the context of the code that goes on")
	}
	return nil
}

// Replaying tells whether the code runs over what is stored already.
func (s *Scope) Replaying() bool {
	s.x.look()
	return s.x.Replaying()
}

// WithCancel makes a child scope and the function that cancels it.
func (s *Scope) WithCancel() (child *Scope, cancel func()) {
	s.x.enter()
	child = s.newChild()
	return child, func() {
		s.x.enter()
		child.cancel(failure.ErrCancelled)
	}
}

// WithTimeout makes a child scope that a durable timer cancels with ErrTimeout.
func (s *Scope) WithTimeout(d time.Duration) (child *Scope, cancel func()) {
	child, cancel = s.WithCancel()
	if child.err != nil {
		return child, cancel
	}
	timer := child.Timer(d)
	expire := func() {
		if timer.err == nil {
			child.cancel(s.x.env.Errors.New(failure.ErrTimeout, "scope timed out after %v", d))
		}
	}
	switch {
	case !timer.settled:
		timer.then = expire
	case timer.err != nil:
		child.cancel(timer.err) // no timer could be made: the scope must not go on without
	default:
		expire()
	}
	return child, cancel
}

// Detached makes a scope that no cancellation reaches, for cleaning up.
func (s *Scope) Detached() *Scope {
	s.x.look()
	return &Scope{x: s.x, detached: true}
}

func (s *Scope) newChild() *Scope {
	child := &Scope{x: s.x, parent: s, detached: s.detached, err: s.over()}
	if child.err == nil {
		child.place = s.children.PushBack(child)
	}
	return child
}

// cancel gives up all that is open in the scope, in the order of its making, then in its
// children, and wakes who waits in it.
func (s *Scope) cancel(reason error) {
	if s.err != nil {
		return
	}
	s.err = reason
	s.detach()
	for e := s.open.Front(); e != nil; e = s.open.Front() {
		e.Value.(*Future).cancel(reason)
	}
	for e := s.children.Front(); e != nil; e = s.children.Front() {
		e.Value.(*Scope).cancel(reason)
	}
	s.waiting.wakeAll()
}

// Go runs body as a coroutine of its own, in a child scope. The future is settled with
// what body answers; cancelling the future cancels the child scope.
func (s *Scope) Go(body func(*Scope) error) *Future {
	s.x.enter()
	child := s.newChild()
	f := &Future{x: s.x, abandon: func() { child.cancel(failure.ErrCancelled) }}
	s.x.spawn(func() {
		err := body(child)
		child.done = true
		child.leave()
		if !f.settled {
			f.err = err
			f.settle()
			if err != nil {
				s.x.keepError(f)
			}
		}
	})
	return f
}

// detach takes a scope that has done its work out of its parent's list.
func (s *Scope) detach() {
	if s.place != nil {
		s.parent.children.Remove(s.place)
		s.place = nil
		s.parent.leave()
	}
}

// leave detaches a scope whose code has returned as soon as nothing begun in it is open:
// until then a cancellation of the parent must reach it.
func (s *Scope) leave() {
	if s.done && s.open.Len() == 0 && s.children.Len() == 0 {
		s.detach()
	}
}
