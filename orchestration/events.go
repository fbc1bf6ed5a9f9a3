package orchestration

import (
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// Mailbox is the durable queue of external events of one name, first in, first out. An
// event that came before anybody listened is kept, also over continue-as-new.
type Mailbox[T any] struct {
	name string
	box  *replay.Mailbox
}

// Events answers the mailbox of a name. All mailboxes of one name are the same queue.
func Events[T any](ctx *Context, name string) Mailbox[T] {
	return Mailbox[T]{name: name, box: ctx.scope.Mailbox(name)}
}

func (m Mailbox[T]) source() replay.Source { return m.box }

// ReceiveOption is an option of Receive.
type ReceiveOption func(*receiveOptions)

type receiveOptions struct {
	within  time.Duration
	limited bool
}

// Within bounds the wait by a durable timer; Receive then answers ErrTimeout.
func Within(d time.Duration) ReceiveOption {
	return func(o *receiveOptions) { o.within, o.limited = d, true }
}

// Receive waits for the next event and takes it. It answers ctx's error if the scope is
// cancelled first. An event that cannot be decoded into T is consumed and answered as ErrPayload.
func (m Mailbox[T]) Receive(ctx *Context, opts ...ReceiveOption) (T, error) {
	var o receiveOptions
	for _, opt := range opts {
		opt(&o)
	}
	var none T
	if !o.limited || m.box.Ready() {
		if _, err := ctx.scope.Wait(m.box); err != nil {
			return none, err
		}
		event, _, err := m.TryReceive()
		return event, err
	}
	timer := ctx.scope.Timer(o.within)
	first, err := ctx.scope.Wait(m.box, timer)
	if err != nil {
		return none, err
	}
	if first == 1 {
		if _, err := timer.Result(); err != nil {
			return none, err
		}
		return none, failure.New(failure.ErrTimeout, "no event %q within %v", m.name, o.within)
	}
	timer.Cancel(failure.ErrCancelled)
	event, _, err := m.TryReceive()
	return event, err
}

// TryReceive takes the next event if one is there; ok is false if not.
func (m Mailbox[T]) TryReceive() (event T, ok bool, err error) {
	data, ok := m.box.Take()
	if !ok {
		return event, false, nil
	}
	if err := payload.Decode(data, &event); err != nil {
		return event, true, failure.New(failure.ErrPayload, "event %q: %v", m.name, err)
	}
	return event, true, nil
}
