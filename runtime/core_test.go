package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// A strict store has the core alone, and notes first turns.
type strict struct {
	provider.Provider

	first atomic.Bool
}

func (s *strict) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if req.First != nil {
		s.first.Store(true)
	}
	return s.Provider.Create(ctx, req)
}

// A store with the core alone runs orchestrations. A call that needs more says which interface is lacking.
func TestCoreRunsAnOrchestration(t *testing.T) {
	t.Parallel()
	full := memory.New(memory.Options{})
	t.Cleanup(func() { _ = full.Close() })
	store := &strict{Provider: full}
	var log bytes.Buffer
	opts := runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	rt, err := runtime.Start(t.Context(), store, registry(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	c, err := rt.Client(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} { // a node that knows the store's time may start an instance with its first turn
		h, err := client.Start(t.Context(), c, Twice, 7, client.WithID(id))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Wait(t.Context()); err != nil || got != 14 {
			t.Errorf("got %d, %v, want 14", got, err)
		}
	}
	for range 2 {
		if h, err := rt.Health(t.Context()); err != nil || len(h.Unserved) != 0 {
			t.Errorf("health %+v, %v, want that of the node", h, err)
		}
	}
	_, list := c.List(t.Context(), client.Filter{}, client.Page{})
	_, count := c.Count(t.Context(), client.Filter{})
	_, limited := client.New(store, client.Options{MaxBacklog: 1})
	limits := runtime.Options{Logger: opts.Logger, QueueLimits: map[string]runtime.QueueLimit{"q": {PerSecond: 1}}}
	_, rate := runtime.Start(t.Context(), store, registry(t), limits)
	for name, err := range map[string]error{"provider.Lister": errors.Join(list, count), "provider.Meter": limited, "provider.Keeper": rate} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an ErrUnsupported that names %s", err, name)
		}
	}
	if store.first.Load() {
		t.Error("the node sent a first turn to a store that does not declare them")
	}
	if err := rt.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "health shows only this node"); n != 1 {
		t.Errorf("health said %d times that the store measures nothing, want once:\n%s", n, &log)
	}
}
