package replay

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// LocalCall is a call of a local activity that code waits for. It leaves no event until it
// ends: calls and results are matched by number.
type LocalCall struct {
	Call      *history.ActivityScheduled // Local is its number
	Cancelled bool                       // it was asked to end, and its end is awaited

	future *Future
}

// localCalls are the local activities that code waits for.
type localCalls struct {
	open  []*LocalCall // in the order in which code asked
	count int64        // so far, which numbers them
}

// number gives a call its number.
func (l *localCalls) number(call *history.ActivityScheduled) {
	l.count++
	call.Local = l.count
}

// find returns the open call with a number, nil if there is none.
func (l *localCalls) find(number int64) *LocalCall {
	for _, local := range l.open {
		if local.Call.Local == number {
			return local
		}
	}
	return nil
}

func (l *localCalls) drop(local *LocalCall) {
	l.open = slices.DeleteFunc(l.open, func(o *LocalCall) bool { return o == local })
}

// Local asks for a local activity. The caller of Deliver runs it and delivers its outcome.
func (s *Scope) Local(call *history.ActivityScheduled) *Future {
	x := s.x
	x.sched.enter()
	if err := s.admit(len(call.Input), "input of local activity "+call.Name); err != nil {
		return s.failed(err)
	}
	if len(x.locals.open) >= maxLocals {
		return s.failed(x.env.Errors.New(failure.ErrTooLarge,
			"local activity %s: %d local activities are pending already; wait for some before more are started", call.Name, len(x.locals.open)))
	}
	x.locals.number(call)
	x.events.burst.add(call) // it may become this command
	local := &LocalCall{Call: call, future: s.newFuture()}
	local.future.cancellingLocal(local)
	x.locals.open = append(x.locals.open, local)
	return local.future
}

// cancellingLocal sets what giving up a local activity does. It records no event, as no message settles its number
// any more.
func (f *Future) cancellingLocal(local *LocalCall) {
	if local.Call.Cancellation == history.CancelWait {
		f.askToEnd = func() { local.Cancelled = true }
		return
	}
	f.abandon = func() { f.x.locals.drop(local) }
}

// Locals returns the local activities that code waits for, in the order in which it asked. The list
// is valid until the next message.
func (v View) Locals() []*LocalCall {
	if v.x.end != nil {
		return nil
	}
	return v.x.locals.open
}

// settleLocal takes the call that a message is about off the list. It is a fault if the code made another call than the
// history holds.
func (x *Execution) settleLocal(b history.Body, number int64, name string) *LocalCall {
	local := x.locals.find(number)
	switch {
	case local == nil:
		x.sched.fail(&NonDeterminismError{
			EventID: x.events.length, History: describe(b), Code: "nothing (it waits for no such call)", Patch: x.events.patches.unknown(),
		})
		return nil
	case local.Call.Name != name:
		x.sched.fail(&NonDeterminismError{
			EventID: x.events.length, History: describe(b), Code: fmt.Sprintf("local call %d of %q", number, local.Call.Name),
			Patch: x.events.patches.unknown(),
		})
		return nil
	}
	x.locals.drop(local)
	return local
}

func (x *Execution) endLocal(b *history.LocalEnded) {
	if local := x.settleLocal(b, b.Call, b.Name); local != nil {
		x.noteFailure(b.Name, b.Failure)
		local.future.complete(b.Output, b.Failure, b)
	}
}

// queueLocal turns a local activity into an ordinary one.
func (x *Execution) queueLocal(b *history.LocalQueued) {
	local := x.settleLocal(b, b.Call, b.Name)
	if local == nil {
		return
	}
	call := *local.Call
	call.Attempts, call.Delay = b.Attempts, b.Delay
	id := x.events.emit(&call)
	if x.sched.fault != nil {
		return
	}
	f := local.future
	x.pending.addActivity(id, f, call.Name)
	f.askToEnd, f.abandon = nil, nil
	f.cancelling(id, x.events.recorded(&call).(*history.ActivityScheduled).Cancellation)
}
