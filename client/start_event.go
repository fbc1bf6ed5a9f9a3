package client

import (
	"fmt"
	"strconv"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// WithEvent raises an event together with the start, in one transaction: the instance is never without it. The code gets the
// events of a start in their order, before those that are raised later. With UseExisting they go to the existing instance, and the start returns
// ErrEnded if that has ended; with [UseRunning], it starts a new one. A start has at most 1,000 events. The payload is stored as JSON, at most 2 MiB.
//
// A repeat of the start with the same request ID raises nothing again; see [WithRequestID].
func WithEvent(name string, payload any) StartOption {
	return startFunc(func(o *startOptions) error {
		if err := access.Name("event name", name); err != nil {
			return err
		}
		if len(o.messages) >= provider.MaxBatch {
			return fmt.Errorf("%w: %d events with one start: give at most %d and raise the others", ErrInvalid, len(o.messages)+1, provider.MaxBatch)
		}
		data, err := access.Encode("event "+strconv.Quote(name), payload)
		if err != nil {
			return err
		}
		o.messages = append(o.messages, &history.EventReceived{Name: name, Payload: data})
		return nil
	})
}

// nameEvents gives the events of a start request IDs that are the same in a repeat.
func (o *startOptions) nameEvents() {
	for i, m := range o.messages {
		if e, ok := m.(*history.EventReceived); ok {
			e.RequestID = "start:" + o.requestID + ":" + strconv.Itoa(i)
		}
	}
}
