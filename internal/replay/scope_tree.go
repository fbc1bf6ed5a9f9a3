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
	run      *handlerRun // whose code has it; nil: the main function
	done     bool        // its code has returned
	detached bool        // for cleaning up: it may use the reserve for the end
	err      error
	at       int64 // the last message when it was cancelled, by event ID
}

// over returns why nothing can be begun in the scope any more, or nil.
func (s *Scope) over() error {
	if s.err != nil {
		return s.err
	}
	if s.run == nil && s.x.closing != nil {
		return s.x.env.Errors.New(failure.ErrInvalid,
			"the context of the orchestration is used after its function has returned: use the context of the handler")
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

func (s *Scope) newChild() *Scope {
	child := &Scope{x: s.x, parent: s, run: s.run, detached: s.detached, err: s.over()}
	if child.err == nil {
		child.place = s.children.PushBack(child)
	}
	return child
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
