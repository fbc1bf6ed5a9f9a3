package replay

import (
	"fmt"
	"math"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Replay applies a whole stored history to a new execution. It answers a
// *NonDeterminismError, *PanicError or *ForeignCallError, after which the execution is of
// no more use. It resumes code: see the package comment.
func (x *Execution) Replay(events []history.Event) error {
	x.script, x.position = events, 0
	x.replaying.Store(true)
	for x.position < len(x.script) && x.fault == nil {
		e := x.script[x.position]
		if !e.Body.Kind().IsMessage() {
			x.fail(&NonDeterminismError{EventID: e.ID, History: describe(e.Body), Code: "nothing (it waits or has ended)"})
			break
		}
		x.position++
		x.length = e.ID
		x.absorb(e)
		x.run()
	}
	x.script, x.burst = nil, burst{}
	x.warned = x.long()
	x.replaying.Store(false)
	return x.fault
}

// Deliver applies one message live and runs the code until it blocks. Answers whether the
// message became an event: one that nobody awaits any more, or that repeats a request,
// leaves none. The message's At is the storage's time. It resumes code: see the package comment.
func (x *Execution) Deliver(message history.Event) (applied bool, err error) {
	if x.fault != nil {
		return false, x.fault
	}
	if kind := message.Body.Kind(); !kind.IsMessage() || kind == history.KindExecutionTerminated {
		x.fail(fmt.Errorf("a message is a %v, which nobody sends: %w", kind, history.ErrCorrupt))
		return false, x.fault
	}
	if !x.awaits(message.Body) {
		return false, nil
	}
	message.At = max(message.At, x.now)
	x.length++
	message.ID = x.length
	x.fresh = append(x.fresh, message)
	x.freshBytes += x.burst.bytes + made(message.Body)
	x.absorb(message)
	x.run()
	return true, x.fault
}

// awaits tells whether a message means anything to the execution in its present state.
func (x *Execution) awaits(body history.Body) bool {
	if x.end != nil {
		return false
	}
	switch b := body.(type) {
	case *history.ExecutionStarted:
		return !x.started
	case *history.ExecutionOpened:
		return !x.opened
	case *history.ActivityCompleted:
		return x.pending[b.Scheduled] != nil
	case *history.ActivityFailed:
		return x.pending[b.Scheduled] != nil
	case *history.TimerFired:
		return x.pending[b.Timer] != nil
	case *history.ChildCompleted:
		return x.pending[b.Started] != nil
	case *history.ChildFailed:
		return x.pending[b.Started] != nil
	case *history.LocalEnded:
		return x.local(b.Call) != nil
	case *history.LocalQueued:
		return x.local(b.Call) != nil
	case *history.EventReceived:
		return !x.repeats(b.RequestID)
	case *history.CancelRequested:
		return x.cancelled == nil && !x.repeats(b.RequestID)
	default:
		return true
	}
}

// absorb changes the execution's state by one message, live or stored.
func (x *Execution) absorb(e history.Event) {
	x.now = max(x.now, e.At)
	x.size += history.Size(e.Body)
	x.burst.reset()
	x.effects.Add(1)
	switch b := e.Body.(type) {
	case *history.ExecutionStarted:
		x.begin(b)
	case *history.ExecutionOpened:
		x.open()
	case *history.ActivityCompleted:
		x.complete(b.Scheduled, b.Output, nil, b)
	case *history.ActivityFailed:
		x.complete(b.Scheduled, nil, &b.Failure, b)
	case *history.TimerFired:
		x.complete(b.Timer, nil, nil, b)
	case *history.ChildCompleted:
		x.complete(b.Started, b.Output, nil, b)
	case *history.ChildFailed:
		x.complete(b.Started, nil, &b.Failure, b)
	case *history.LocalEnded:
		x.endLocal(b)
	case *history.LocalQueued:
		x.queueLocal(b)
	case *history.EventReceived:
		x.remember(b.RequestID)
		x.mailbox(b.Name).put(e)
	case *history.CancelRequested:
		x.remember(b.RequestID)
		x.cancelled = &e
		x.root.cancel(x.env.Errors.New(failure.ErrCancelled, "cancelled: %s", b.Reason))
	case *history.ExecutionTerminated:
		x.end = &End{Terminated: true}
	default:
		x.fail(fmt.Errorf("event %d is a %v where a message belongs: %w", e.ID, e.Body.Kind(), history.ErrCorrupt))
	}
}

func (x *Execution) begin(b *history.ExecutionStarted) {
	x.started = true
	x.startEvent = b
	x.retained += int(history.Size(b))
	x.settings = b.Settings
	x.info.Name, x.info.CodeVersion, x.info.Parent = b.Name, b.CodeVersion, b.Parent
	for _, id := range b.Seen {
		x.remember(string(id))
	}
	if !b.Continued {
		x.open()
	}
}

func (x *Execution) open() {
	x.opened = true
	x.spawn(func() {
		if r, over := x.root.delay(x.startEvent.Delay); over {
			x.finish(r)
			return
		}
		x.finish(x.main(x.root))
	})
}

// delay waits for so many microseconds before the code begins. It reports over with the result of the execution if that is
// cancelled first: its code never begins.
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

// Input is the input of the execution.
func (s *Scope) Input() []byte { return s.x.startEvent.Input }

func (x *Execution) complete(id int64, output []byte, f *history.Failure, message history.Body) {
	future, ok := x.pending[id]
	if !ok {
		x.fail(fmt.Errorf("event %d answers event %d, which awaits nothing: %w", x.length, id, history.ErrCorrupt))
		return
	}
	delete(x.pending, id)
	future.complete(output, f, message)
}

// repeats tells whether a request ID was consumed before.
func (x *Execution) repeats(requestID string) bool {
	_, seen := x.seen[requestID]
	return seen && requestID != ""
}

// remember keeps the last request IDs of the instance.
func (x *Execution) remember(requestID string) {
	if requestID == "" {
		return
	}
	x.seen[requestID] = struct{}{}
	x.retained += len(requestID)
	x.seenOrder = append(x.seenOrder, requestID)
	if len(x.seenOrder) > maxSeen {
		delete(x.seen, x.seenOrder[0])
		x.retained -= len(x.seenOrder[0])
		x.seenOrder = x.seenOrder[1:]
	}
}
