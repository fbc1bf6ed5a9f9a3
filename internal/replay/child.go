package replay

import (
	"strconv"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	own "github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Child starts a child instance. Without an ID, the child gets one that is unique to this event of this execution. What giving it up does, and
// what the end of the execution does, was stored when it was started. Code of another release may ask for something else by now.
func (s *Scope) Child(call *history.ChildStarted) *Future {
	x := s.x
	x.sched.enter()
	if err := s.admit(len(call.Input), "input of child "+call.Name); err != nil {
		return s.failed(err)
	}
	call.Explicit = call.ID != ""
	if !call.Explicit {
		call.ID = x.info.keyText + "/" + strconv.FormatInt(x.info.Execution, 10) + "/" + strconv.FormatInt(x.events.length+1, 10)
	}
	if !x.events.replaying.Load() {
		call.Key = x.env.NewKey(call.ID)
		x.events.admitHeader(&call.Header)
	}
	id := x.events.emit(call)
	stored := x.events.recorded(call).(*history.ChildStarted)
	if x.events.replaying.Load() {
		x.events.headers.bytes += len(stored.Header)
	}
	f := s.newFuture()
	f.child, f.outlives = stored.Key, stored.Close == history.CloseAbandon
	f.cancellingChild(id, stored)
	if call.TellStart || stored.TellStart {
		f.begun, f.asked = s.newFuture(), stored.TellStart // of one that was not asked to tell, the end tells
		f.begun.reply = &awaited{message: stored.Key}
		f.begun.output = history.EncodeEnded(history.Ended{ID: stored.ID, Key: provider.UUID(stored.Key).String()})
	}
	x.pending.futures[id] = f
	if due, ok := limitOf(stored); ok {
		if x.pending.due == nil {
			x.pending.due = make(map[int64]int64)
		}
		x.pending.due[id] = due
	}
	return f
}

// limitOf returns when a child is over its time limit, in microseconds UTC; ok is false if it has none.
func limitOf(stored *history.ChildStarted) (due int64, ok bool) {
	for i := range stored.Attributes {
		if a := &stored.Attributes[i]; a.Name == own.LimitAttribute {
			limit, ok := own.ParseLimit(a.Text)
			return limit.Due.UnixMicro(), ok
		}
	}
	return 0, false
}

// childFailure returns how a child has ended for the code: if the message of a time came after its time limit, with ErrTimeout.
func (x *Execution) childFailure(b *history.ChildFailed, at int64) *history.Failure {
	due, limited := x.pending.due[b.Started]
	delete(x.pending.due, b.Started)
	if !limited || at < due {
		return &b.Failure
	}
	errs := x.env.Errors
	f := errs.Encode(errs.New(failure.ErrTimeout, "the time limit of the child was over: %w", errs.Decode(b.Failure)))
	return &f
}

// cancellingChild sets what giving up the child of event id does.
func (f *Future) cancellingChild(id int64, stored *history.ChildStarted) {
	request := func() { f.x.events.emit(&history.ChildCancelRequested{Started: id, Key: stored.Key}) }
	switch stored.Cancellation {
	case history.CancelWait:
		f.askToEnd = request
	case history.CancelAbandon:
		f.stays = true
	default:
		f.abandon = func() {
			request()
			delete(f.x.pending.futures, id)
		}
	}
}

// leaveAlone ends the wait for a child that the end of its parent does not concern. The child stays pending, and is told nothing.
func (f *Future) leaveAlone(reason error) {
	f.abandon, f.askToEnd, f.stays = nil, nil, true
	f.cancel(reason)
}

// Begun returns the future of the start of a child for which code has asked. It ends without an error when the child is stored. Its output names
// the child. Cancelling it gives up only the wait.
func (f *Future) Begun() *Future {
	if f.begun == nil { // the child was refused before it was asked for, or f is of an interceptor
		err := f.err
		if err == nil {
			err = f.x.env.Errors.New(failure.ErrInvalid, "an interceptor has replaced the future of the child: nobody tells of its start")
		}
		return &Future{x: f.x, settled: true, err: err}
	}
	return f.begun
}

// takes reports whether code waits for a reply.
func (f *Future) takes(b *history.ReplyReceived) bool {
	return f.reply.is(b) || f.begun != nil && f.begun.reply.is(b)
}

// takeBegun takes the reply to the start of a child, whose own future goes on. It reports whether b is that.
func (f *Future) takeBegun(b *history.ReplyReceived) bool {
	if f.begun == nil || !f.begun.reply.is(b) {
		return false
	}
	f.begun.reply = nil // it comes once
	if !f.begun.settled {
		f.begun.settle()
	}
	return true
}

// ended settles the future of the start of a child whose end came first. The reply comes before the end of every child that has begun, unless it was
// lost. So a failure says that the child has not begun.
func (f *Future) ended(why *history.Failure) {
	if b := f.begun; b != nil && !b.settled {
		b.failure = why
		b.settle()
	}
}
