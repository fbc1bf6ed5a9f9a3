package orchestration

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// Mailbox is the durable queue of external events of one name, first in, first out. An event that arrives before the code waits
// for it is kept, also over continue-as-new.
//
// Code that takes all events with TryReceive and then returns has taken every event that was accepted before its end was stored. If
// events come faster than turns can store them, the last ones go to the dead letters; see operate.Operator.DeadLetters. So they do in instances
// that releases before level 7 started. While handlers go on after the return, later events are kept as events that nobody took.
// An event that was never taken stays in the history, and is counted and logged at the end.
type Mailbox[T any] struct {
	name string
	box  *replay.Mailbox
}

// Events returns the mailbox of a name. All mailboxes of one name are the same queue. A name that no client can raise fails the
// turn.
func Events[T any](ctx *Context, name string) Mailbox[T] {
	scope := ctx.engine()
	// Histories from before this check still replay.
	if err := check.Name("event name", name); err != nil && !scope.Replaying() {
		scope.Fail(fmt.Errorf("waiting for events of %s: %w", check.Quote(name), err))
	}
	return Mailbox[T]{name: name, box: scope.Mailbox(name)}
}

func (m Mailbox[T]) source() replay.Source { return m.made() }

// ReceiveOption is an option of Receive and [Context.Await]. [Within] makes one.
type ReceiveOption interface {
	applyReceive(o *receiveOptions) error
}

type receiveFunc func(o *receiveOptions) error

func (f receiveFunc) applyReceive(o *receiveOptions) error { return f(o) }

type receiveOptions struct {
	within  time.Duration
	limited bool
	waiting string
}

// Within bounds the wait by a durable timer; Receive and Await then return ErrTimeout. With d of zero or less they do not wait.
func Within(d time.Duration) ReceiveOption {
	return receiveFunc(func(o *receiveOptions) error {
		o.within, o.limited = d, true
		return nil
	})
}

// Receive waits for the next event and takes it. It returns ctx's error if the scope is cancelled first. An event that cannot
// be decoded into T is consumed, and the error is ErrPayload.
func (m Mailbox[T]) Receive(ctx *Context, opts ...ReceiveOption) (T, error) {
	var o receiveOptions
	var none T
	if err := bind.Apply(opts, func(opt ReceiveOption) error { return opt.applyReceive(&o) }); err != nil {
		return none, refused("receiving event", m.name, err)
	}
	scope, box := ctx.engine(), m.made()
	if o.waiting != "" {
		defer scope.Waiting(o.waiting)()
	}
	atHand, within := false, o.within
	if o.limited {
		atHand, within = scope.AtHand(box, o.within)
	}
	if !o.limited || atHand {
		if _, err := scope.Wait(box); err != nil {
			return none, err
		}
		event, _, err := m.TryReceive()
		return event, err
	}
	timer := scope.Timer(within)
	first, err := scope.Wait(box, timer)
	if err != nil {
		return none, err
	}
	if first == 1 {
		if _, err := timer.Result(); err != nil {
			return none, err
		}
		return none, newError(failure.ErrTimeout, "no event %q within %v", m.name, o.within)
	}
	timer.Cancel(failure.ErrCancelled)
	event, _, err := m.TryReceive()
	return event, err
}

// TryReceive takes the next event if one is there; ok is false if the code has received none. More may have been accepted.
func (m Mailbox[T]) TryReceive() (event T, ok bool, err error) {
	data, ok := m.made().Take()
	if !ok {
		return event, false, nil
	}
	if err := payload.Decode(data, &event); err != nil {
		return event, true, newError(failure.ErrPayload, "event %q: %v", m.name, err)
	}
	return event, true, nil
}
