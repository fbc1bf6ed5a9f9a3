package replay

import (
	"fmt"
	"math"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Replay applies a whole stored history to a new execution. After an error - a *NonDeterminismError, *PanicError or
// *WrongGoroutineError - the execution cannot be used any more. Replay resumes code: see the package comment.
func (x *Execution) Replay(events []history.Event) error {
	x.events.replay(events)
	for x.sched.fault == nil {
		e, ok := x.events.next()
		if !ok {
			break
		}
		x.applyMessage(e)
		if x.held = e.More; !x.held {
			x.run()
		}
	}
	x.events.goLive()
	x.updates.forget()
	x.warned = x.events.long()
	return x.sched.fault
}

// Deliver applies one message live and runs the code until it blocks. If applied is false, the message did not become
// an event: it repeats a request, or code does not wait for it. The message's At is the storage's time. Deliver resumes
// code: see the package comment.
func (x *Execution) Deliver(message history.Event) (applied bool, err error) {
	if applied, err = x.Absorb(message); err != nil || !applied {
		return applied, err
	}
	return applied, x.Continue(message.At)
}

// Absorb applies one message live, as Deliver does. The code runs at the next Continue, and sees all messages that were
// absorbed before. In an execution that was started by an older release it runs at once, so Absorb may resume code, too: see the
// package comment.
func (x *Execution) Absorb(message history.Event) (applied bool, err error) {
	if x.sched.fault != nil {
		return false, x.sched.fault
	}
	if kind := message.Body.Kind(); !kind.IsMessage() || kind == history.KindExecutionTerminated || kind == history.KindForkPoint {
		x.sched.fail(fmt.Errorf("cannot deliver a %v: %w", kind, history.ErrCorrupt))
		return false, x.sched.fault
	}
	if !x.awaits(message) {
		return false, x.sched.fault
	}
	x.receive(message)
	if !x.View().Together() {
		x.held = false
		x.run()
	}
	return true, x.sched.fault
}

func (x *Execution) receive(message history.Event) {
	if x.held {
		x.events.moreFollow()
	} else {
		x.events.together = 0
	}
	x.events.together++
	message.At, message.More, message.Newer = max(message.At, x.now), false, x.noteNewer()
	if message.Anchor != "" {
		message.Anchor = x.events.admitAnchor(message.Anchor)
	}
	x.applyMessage(x.events.receive(message))
	x.held = true
}

// Continue runs the code until it blocks, if a message was absorbed since it ran last. If the last one is stored and
// says that more follow, a message without content follows it. at is the storage's time. Continue resumes code: see the
// package comment.
func (x *Execution) Continue(at int64) error {
	if x.sched.fault != nil || !x.held {
		return x.sched.fault
	}
	if x.events.lastIsStored() {
		x.receive(history.Event{At: at, Body: &history.ExecutionOpened{}})
	}
	x.held = false
	x.run()
	return x.sched.fault
}

// run resumes code until all of it is blocked. If the main function has returned, it goes on with the end.
func (x *Execution) run() {
	x.sched.run()
	if x.decideRest() {
		x.sched.run()
	}
	x.checkDeadlock()
	for x.closing != nil && x.end == nil && x.sched.fault == nil && x.closeStep() {
		x.sched.run()
	}
}

// Hold ends a turn before the code runs. It continues in a later turn, when that has applied more messages.
func (x *Execution) Hold() {
	if x.held {
		x.events.moreFollow()
	}
}

// Held reports whether messages were applied after which the code has not run.
func (v View) Held() bool { return v.x.held }

// Together reports whether code continues only after all messages of a turn.
func (v View) Together() bool { return v.x.settings.Flags&flagTogether != 0 }

// awaits reports whether a message means anything to the execution in its present state.
func (x *Execution) awaits(message history.Event) bool {
	if x.end != nil {
		return false
	}
	switch b := message.Body.(type) {
	case *history.ExecutionStarted:
		return !x.started
	case *history.ExecutionOpened:
		return !x.opened
	case *history.ActivityCompleted:
		return x.pending.futures[b.Scheduled] != nil
	case *history.ActivityFailed:
		return x.pending.futures[b.Scheduled] != nil
	case *history.TimerFired:
		return x.pending.futures[b.Timer] != nil
	case *history.ChildCompleted:
		return x.pending.futures[b.Started] != nil
	case *history.ChildFailed:
		return x.pending.futures[b.Started] != nil
	case *history.ReplyReceived:
		f := x.pending.futures[b.Command]
		return f != nil && f.takes(b)
	case *history.LocalEnded:
		return x.locals.find(b.Call) != nil
	case *history.LocalQueued:
		return x.locals.find(b.Call) != nil
	case *history.EventReceived:
		return !x.requests.repeats(b.RequestID)
	case *history.UpdateReceived:
		return x.takesUpdate(b, max(message.At, x.now))
	case *history.CancelRequested:
		return x.cancelled == nil && !x.requests.repeats(b.RequestID)
	default:
		return true
	}
}

// applyMessage changes the execution's state by one message, live or stored.
func (x *Execution) applyMessage(e history.Event) {
	x.now = max(x.now, e.At)
	x.events.begin(e)
	x.state.begin()
	x.sched.atPoint = e.Body.Kind() == history.KindForkPoint
	x.noteMessage(&e)
	if e.Anchor != "" {
		x.events.headers.bytes += len(e.Anchor)
		x.takeAnchor(e.Anchor, e.At)
	}
	switch b := e.Body.(type) {
	case *history.ExecutionStarted:
		x.begin(b, e.At)
	case *history.ExecutionOpened:
		if !x.opened {
			x.open()
		}
	case *history.ForkPoint:
		x.branch(b)
	case *history.ActivityCompleted:
		x.complete(b.Scheduled, b.Output, nil, b)
	case *history.ActivityFailed:
		x.complete(b.Scheduled, nil, &b.Failure, b)
	case *history.TimerFired:
		x.complete(b.Timer, nil, nil, b)
	case *history.ChildCompleted:
		delete(x.pending.due, b.Started)
		x.complete(b.Started, b.Output, nil, b)
	case *history.ChildFailed:
		x.complete(b.Started, nil, x.childFailure(b, e.At), b)
	case *history.ReplyReceived:
		x.takeReply(b)
	case *history.LocalEnded:
		x.endLocal(b)
	case *history.LocalQueued:
		x.queueLocal(b)
	case *history.EventReceived:
		x.takeHeader(&b.Header, e.At)
		x.requests.add(b.RequestID)
		x.takeEvent(e, b)
	case *history.UpdateReceived:
		x.takeHeader(&b.Header, e.At)
		x.receiveUpdate(e, b)
	case *history.CancelRequested:
		x.takeHeader(&b.Header, e.At)
		x.requests.add(b.RequestID)
		x.cancelled = &e
		reason := x.env.Errors.New(failure.ErrCancelled, "cancelled: %s", b.Reason)
		x.root.cancel(reason)
		x.job.cancel(reason)
	case *history.ExecutionTerminated:
		x.stop(&End{Terminated: true})
	default:
		x.sched.fail(fmt.Errorf("event %d is a %v where a message belongs: %w", e.ID, e.Body.Kind(), history.ErrCorrupt))
	}
}

// takeHeader counts the header of a message, and takes over the anchor that it may name.
func (x *Execution) takeHeader(header *[]byte, at int64) {
	x.events.admitHeader(header)
	x.takeAnchor(history.HeaderValue(*header, history.AnchorKey), at)
}

func (x *Execution) begin(b *history.ExecutionStarted, at int64) {
	x.started = true
	x.startEvent, x.startedAt = b, at
	x.events.admitHeader(&b.Header)
	x.noteTrace(b.Header, at)
	x.retained += int(history.Size(b))
	x.settings = b.Settings
	x.info.Name, x.info.CodeVersion, x.info.Parent = b.Name, b.CodeVersion, b.Parent
	if b.Seed != nil { // the execution was opened from a prefix
		x.identify()
	}
	for _, id := range b.Seen {
		x.requests.add(string(id))
	}
	if len(b.Updates) > 0 {
		x.wantUpdates().known.addAll(b.Updates)
	}
	if !b.Continued {
		x.open()
	}
}

func (x *Execution) open() {
	x.opened = true
	x.sched.spawn(nil, func() {
		if r, over := x.root.delay(x.startEvent.Delay); over {
			x.finish(r)
			return
		}
		x.begun = true
		x.finish(x.main(x.root))
	})
}

// delay waits before the code begins. If the execution is cancelled first, its code never begins, and over is true with
// the result of the execution.
func (s *Scope) delay(micros int64) (r Result, over bool) {
	if micros <= 0 {
		return Result{}, false
	}
	f := s.Timer(time.Duration(min(micros, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond)
	_, err := s.Wait(f)
	if err == nil {
		_, err = f.Result()
	}
	if err == nil {
		return Result{}, false
	}
	failed := s.x.env.Errors.Encode(err)
	return Result{Failure: &failed, Cancelled: s.Err() != nil && failure.IsCancelled(&failed)}, true
}

func (x *Execution) complete(id int64, output []byte, f *history.Failure, message history.Body) {
	future := x.pending.take(id)
	if future == nil {
		x.sched.fail(fmt.Errorf("event %d is the outcome of event %d, which is not pending: %w", x.events.length, id, history.ErrCorrupt))
		return
	}
	if future.activity != "" {
		x.noteFailure(future.activity, f)
	}
	future.complete(output, f, message)
	future.ended(f)
}
