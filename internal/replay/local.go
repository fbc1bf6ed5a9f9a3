package replay

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// maxLocals bounds the local activities that an execution waits for. All of a turn run at once, and those
// that it does not see to the end become tasks in its commit.
const maxLocals = 100

// LocalCall is a call of a local activity that code waits for. It leaves no event until it
// ends: calls are matched with their results by their number.
type LocalCall struct {
	Call      *history.ActivityScheduled // Local is its number
	Cancelled bool                       // it was asked to end, and its end is awaited

	future *Future
}

// Local asks for a local activity. Whoever delivers the messages runs it, and delivers how it ended.
func (s *Scope) Local(call *history.ActivityScheduled) *Future {
	x := s.x
	x.enter()
	if err := s.admit(len(call.Input), "input of local activity "+call.Name); err != nil {
		return s.failed(err)
	}
	if len(x.locals) >= maxLocals {
		return s.failed(x.env.Errors.New(failure.ErrTooLarge,
			"local activity %s: %d local activities are pending already; wait for some before more are started", call.Name, len(x.locals)))
	}
	x.asked++
	call.Local = x.asked
	x.burst.add(call) // it may become this command
	local := &LocalCall{Call: call, future: s.newFuture()}
	local.future.giveUpLocal(local)
	x.locals = append(x.locals, local)
	return local.future
}

// giveUpLocal says what giving up a local activity does. None of it needs an event: its number is never answered.
func (f *Future) giveUpLocal(local *LocalCall) {
	if local.Call.Cancellation == history.CancelWait {
		f.ask = func() { local.Cancelled = true }
		return
	}
	f.abandon = func() { f.x.dropLocal(local) }
}

// Locals answers the local activities that code waits for, in the order in which it asked. The list
// is good until the next message.
func (x *Execution) Locals() []*LocalCall {
	if x.end != nil {
		return nil
	}
	return x.locals
}

func (x *Execution) local(number int64) *LocalCall {
	for _, local := range x.locals {
		if local.Call.Local == number {
			return local
		}
	}
	return nil
}

func (x *Execution) dropLocal(local *LocalCall) {
	x.locals = slices.DeleteFunc(x.locals, func(l *LocalCall) bool { return l == local })
}

// answered takes the call that a message is about off the list. A history may hold an answer to another call than the
// code made.
func (x *Execution) answered(b history.Body, number int64, name string) *LocalCall {
	local := x.local(number)
	switch {
	case local == nil:
		x.fail(&NonDeterminismError{
			EventID: x.length, History: describe(b), Code: "nothing (it waits for no such call)",
		})
		return nil
	case local.Call.Name != name:
		x.fail(&NonDeterminismError{
			EventID: x.length, History: describe(b), Code: fmt.Sprintf("local call %d of %q", number, local.Call.Name),
		})
		return nil
	}
	x.dropLocal(local)
	return local
}

func (x *Execution) endLocal(b *history.LocalEnded) {
	if local := x.answered(b, b.Call, b.Name); local != nil {
		local.future.complete(b.Output, b.Failure, b)
	}
}

// queueLocal lets a local activity go on as an ordinary one.
func (x *Execution) queueLocal(b *history.LocalQueued) {
	local := x.answered(b, b.Call, b.Name)
	if local == nil {
		return
	}
	call := *local.Call
	call.Attempts, call.Delay = b.Attempts, b.Delay
	id := x.emit(&call)
	if x.fault != nil {
		return
	}
	f := local.future
	x.activities++
	f.then = func() { x.activities-- }
	f.ask, f.abandon = nil, nil
	f.cancelling(id, x.recorded(&call).(*history.ActivityScheduled).Cancellation)
	x.pending[id] = f
}
