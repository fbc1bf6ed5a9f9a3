package replay

import (
	"fmt"
	"strconv"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// A reply settles the future of a command that reaches another instance. The command stays pending until the reply has come, even if
// code has given it up. So a history has each reply that its execution got, and an execution that opens from a prefix knows
// which ones it still has to wait for.

// StartDetached starts an instance that is no child. Without an ID, it gets one that is unique to this event of this execution. The
// future ends without an error when the instance is stored. Its output names the instance.
func (s *Scope) StartDetached(call *history.DetachedStarted) *Future {
	x := s.x
	x.sched.enter()
	bytes := len(call.Input)
	for i := range call.Events {
		bytes += len(call.Events[i].Payload)
	}
	if err := s.admit(bytes, "input and events of instance "+call.Name); err != nil {
		return s.failed(err)
	}
	call.Explicit = call.ID != ""
	if !call.Explicit {
		call.ID = x.info.keyText + "/" + strconv.FormatInt(x.info.Execution, 10) + "/" + strconv.FormatInt(x.events.length+1, 10)
	}
	if !x.events.replaying.Load() {
		call.Key = x.newKey(call)
	}
	id := x.events.emit(call)
	stored := x.events.recorded(call).(*history.DetachedStarted)
	f := s.awaitReply(id, stored.Key, "starting "+check.Quote(stored.Name)+" as instance "+check.Quote(stored.ID))
	f.output = history.EncodeEnded(history.Ended{ID: stored.ID, Key: provider.UUID(stored.Key).String()})
	return f
}

// newKey returns the key of an instance. Under a request ID of the code the key follows from both IDs. So code that repeats the start,
// for example behind a reset, names the instance that the first one has started.
func (x *core) newKey(call *history.DetachedStarted) [16]byte {
	if call.RequestID == "" {
		return x.env.NewKey(call.ID)
	}
	return provider.KeyOf(call.ID, call.RequestID)
}

// SendEvent sends an event to another instance. The future ends without an error when the event is in its inbox.
func (s *Scope) SendEvent(call *history.EventSent) *Future {
	x := s.x
	x.sched.enter()
	if err := s.admit(len(call.Payload), "event "+check.Quote(call.Name)); err != nil {
		return s.failed(err)
	}
	if !x.events.replaying.Load() {
		call.Message = x.env.NewKey(call.ID)
	}
	id := x.events.emit(call)
	return s.awaitReply(id, x.events.recorded(call).(*history.EventSent).Message,
		"raising event "+check.Quote(call.Name)+" to "+receiver(call.ID, call.Key))
}

// SendCancel asks another instance to stop. The future ends without an error when the request is in its inbox.
func (s *Scope) SendCancel(call *history.CancelSent) *Future {
	x := s.x
	x.sched.enter()
	if err := s.admit(len(call.Reason), "reason of a cancel request"); err != nil {
		return s.failed(err)
	}
	if !x.events.replaying.Load() {
		call.Message = x.env.NewKey(call.ID)
	}
	id := x.events.emit(call)
	return s.awaitReply(id, x.events.recorded(call).(*history.CancelSent).Message, "cancelling "+receiver(call.ID, call.Key))
}

// awaited is the reply that a future waits for.
type awaited struct {
	message [16]byte
	action  string // for errors
}

// is reports whether b is that reply.
func (a *awaited) is(b *history.ReplyReceived) bool { return a != nil && a.message == b.Message }

func (s *Scope) awaitReply(id int64, message [16]byte, action string) *Future {
	f := s.newFuture()
	f.reply = &awaited{message, action}
	s.x.pending.futures[id] = f
	return f
}

// takeReply settles the future of a command.
func (x *Execution) takeReply(b *history.ReplyReceived) {
	if f := x.pending.futures[b.Command]; f != nil && f.takeBegun(b) {
		return
	}
	f := x.pending.take(b.Command)
	if f == nil || !f.reply.is(b) {
		x.sched.fail(fmt.Errorf("event %d is the reply to event %d, which is not pending: %w", x.events.length, b.Command, history.ErrCorrupt))
		return
	}
	if !f.settled {
		f.err = x.replyError(f.reply.action, b)
		f.settle()
	}
}

// replyError returns the error of a reply, nil if the instance was started or has the message.
func (x *core) replyError(action string, b *history.ReplyReceived) error {
	var kind error
	var why string
	switch b.Outcome {
	case history.ReplyAccepted:
		return nil
	case history.ReplyExists:
		kind, why = failure.ErrExists, "the instance ID is in use: choose another one"
	case history.ReplyGone:
		kind, why = failure.ErrNotFound, "there is no such instance: check the ID"
	case history.ReplyEnded:
		kind, why = failure.ErrEnded, "the instance has ended and takes nothing any more"
	case history.ReplyFull:
		kind, why = failure.ErrInboxFull, "the inbox of the instance is full: send less, or later"
	case history.ReplyForked:
		kind, why = failure.ErrForked, "it belongs to the instance that this one was forked from"
	default:
		kind, why = failure.ErrOutcomeUnknown, "the reply was lost with the end that a reset took back: ask the instance"
	}
	return x.env.Errors.New(kind, "%s: %s", action, why)
}
