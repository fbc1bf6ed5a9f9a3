package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// events returns the payloads of the events in an inbox.
func (w *world) events(key provider.UUID) string {
	w.t.Helper()
	var payloads []string
	for _, b := range w.Inbox(key) {
		if e, ok := b.(*history.EventReceived); ok {
			payloads = append(payloads, e.Name+string(e.Payload))
		}
	}
	return strings.Join(payloads, " ")
}

// The events of a start are in the inbox as soon as the instance exists, in their order.
func TestStartWithEvents(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"), client.WithEvent("item", 1), client.WithEvent("stop", nil), client.WithEvent("item", 2))
	if got := w.events(h.Key()); got != "item1 stopnull item2" {
		t.Errorf("the inbox has %s", got)
	}
	seen := map[string]bool{}
	for _, b := range w.Inbox(h.Key()) {
		if e, ok := b.(*history.EventReceived); ok && (e.RequestID == "" || seen[e.RequestID]) {
			t.Errorf("request ID %q", e.RequestID)
		} else if ok {
			seen[e.RequestID] = true
		}
	}
}

// With UseExisting the events go to the instance that there is, and a repeat raises nothing again.
func TestStartWithEventsTakesTheExisting(t *testing.T) {
	w := newWorld(t, client.Options{})
	old := w.Start(client.WithID("a"))
	existing := client.WithIDPolicy(client.UseExisting)
	for range 2 {
		if h := w.Start(client.WithID("a"), existing, client.WithRequestID("click"), client.WithEvent("item", 1)); h != old {
			t.Errorf("got %v", h)
		}
	}
	if got := w.events(old.Key()); got != "item1" {
		t.Errorf("the inbox has %s", got)
	}
	_, err := client.Start(t.Context(), w.Client, Checkout, order{}, client.WithID("a"), client.WithEvent("item", 2))
	if !errors.Is(err, client.ErrExists) || w.events(old.Key()) != "item1" {
		t.Errorf("rejected: %v, the inbox has %s", err, w.events(old.Key()))
	}
	w.Complete(old.Key(), "{}")
	_, err = client.Start(t.Context(), w.Client, Checkout, order{}, client.WithID("a"), existing, client.WithEvent("item", 3))
	if !errors.Is(err, client.ErrEnded) {
		t.Errorf("ended: %v", err)
	}
	if h := w.Start(client.WithID("a"), existing); h != old {
		t.Errorf("without events: %v", h)
	}
}

// A start whose reply is lost raises its events once.
func TestStartWithEventsIsRepeatedSafely(t *testing.T) {
	w := newWorld(t, client.Options{})
	w.Lose(faulty.Create, 1)
	h := w.Start(client.WithID("a"), client.WithEvent("item", 1))
	if got := w.events(h.Key()); got != "item1" {
		t.Errorf("the inbox has %s", got)
	}
}

func TestStartWithEventsRefusesBadInput(t *testing.T) {
	w := newWorld(t, client.Options{})
	many := make([]client.StartOption, provider.MaxBatch+1)
	for i := range many {
		many[i] = client.WithEvent("item", i)
	}
	for name, c := range map[string]struct {
		opts []client.StartOption
		kind error
		want string
	}{
		"no name":  {[]client.StartOption{client.WithEvent("", 1)}, client.ErrInvalid, "event name"},
		"function": {[]client.StartOption{client.WithEvent("item", func() {})}, client.ErrInvalid, `event "item"`},
		"large":    {[]client.StartOption{client.WithEvent("item", strings.Repeat("x", 2<<20))}, client.ErrTooLarge, `event "item"`},
		"many":     {many, client.ErrInvalid, "1001 events"},
	} {
		_, err := client.Start(t.Context(), w.Client, Checkout, order{}, append(c.opts, client.WithID("bad"))...)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.Lookup[receipt](t.Context(), w.Client, "bad"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
}
