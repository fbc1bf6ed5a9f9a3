package replay

import (
	"container/list"

	"github.com/perdure/perdure/internal/failure"
)

// Scope is a cancellation scope of an execution's code. Cancelling it gives up the operations
// begun in it and cancels its child scopes. Only the running coroutine may use it.
type Scope struct {
	x        *core
	parent   *Scope
	place    *list.Element // in parent.children
	open     list.List     // open futures, oldest first
	children list.List     // open child scopes
	waiting  waitList
	done     bool // its code has returned
	detached bool // for cleaning up: it may use the reserve for the end
	err      error
}

// Env returns the node's environment.
func (s *Scope) Env() *Env { return s.x.env }

// Info returns what identifies the execution.
func (s *Scope) Info() Info {
	s.x.sched.look()
	return s.x.info
}

// Input returns the input of the execution.
func (s *Scope) Input() []byte { return s.x.startEvent.Input }

// Err is nil until the scope is over, then the reason.
func (s *Scope) Err() error {
	s.x.sched.look()
	return s.over()
}

// over returns why nothing can be begun in the scope any more, or nil.
func (s *Scope) over() error {
	if s.err != nil {
		return s.err
	}
	return s.returned()
}

// returned refuses operations in the scope of a coroutine that has returned: nothing could wait for them.
func (s *Scope) returned() error {
	if s.done && s.x.settings.Flags&flagScopes != 0 {
		return s.x.env.Errors.New(failure.ErrInvalid,
			"the context of a coroutine is used after its function has returned: use the context of the code that goes on")
	}
	return nil
}

// Replaying reports whether the code runs on stored events.
func (s *Scope) Replaying() bool {
	s.x.sched.look()
	return s.x.events.replaying.Load()
}

// WithCancel makes a child scope and the function that cancels it.
func (s *Scope) WithCancel() (child *Scope, cancel func()) {
	s.x.sched.enter()
	child = s.newChild()
	return child, func() {
		s.x.sched.enter()
		child.cancel(failure.ErrCancelled)
	}
}

// Detached makes a scope that no cancellation reaches, for cleaning up.
func (s *Scope) Detached() *Scope {
	s.x.sched.look()
	return &Scope{x: s.x, detached: true}
}

func (s *Scope) newChild() *Scope {
	child := &Scope{x: s.x, parent: s, detached: s.detached, err: s.over()}
	if child.err == nil {
		child.place = s.children.PushBack(child)
	}
	return child
}

// cancel gives up everything open in the scope, oldest first, and then in its children. It wakes the coroutines that
// wait in the scope.
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

// Wait blocks the running coroutine until one of the sources is ready and returns its
// index, the lowest if there are several. If the scope is cancelled first, it returns the scope's error.
// A single future that is ending is waited for even then.
func (s *Scope) Wait(sources ...Source) (int, error) {
	co := s.x.sched.enter()
	for {
		for i, src := range sources {
			if src.Ready() {
				return i, nil
			}
		}
		if err := s.over(); err != nil && (s.err == nil || !ending(sources)) {
			return -1, err
		}
		for _, src := range sources {
			co.waits = append(co.waits, src.list().add(co))
		}
		co.waits = append(co.waits, s.waiting.add(co))
		co.park()
		for _, w := range co.waits {
			w.leave()
		}
		co.waits = co.waits[:0]
	}
}

// Go runs body as another coroutine, in a child scope. The future is settled with body's error. Cancelling the future
// cancels the child scope.
func (s *Scope) Go(body func(*Scope) error) *Future {
	s.x.sched.enter()
	child := s.newChild()
	f := &Future{x: s.x, abandon: func() { child.cancel(failure.ErrCancelled) }}
	s.x.sched.spawn(func() {
		err := body(child)
		child.done = true
		child.leave()
		if !f.settled {
			f.err = err
			f.settle()
			if err != nil {
				s.x.lost.keep(s.x.env.Errors, f)
			}
		}
	})
	return f
}

// detach removes a scope that is done from its parent's list.
func (s *Scope) detach() {
	if s.place != nil {
		s.parent.children.Remove(s.place)
		s.place = nil
		s.parent.leave()
	}
}

// leave detaches a scope whose code has returned once nothing begun in it is open. Until
// then a cancellation of the parent must reach it.
func (s *Scope) leave() {
	if s.done && s.open.Len() == 0 && s.children.Len() == 0 {
		s.detach()
	}
}
