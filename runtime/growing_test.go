package runtime_test

import (
	"context"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// A crowded store counts as many ended instances as it is told.
type crowded struct {
	*provider.Full

	ended map[provider.Status]int64
}

func (s *crowded) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	res, err := s.Full.Stats(ctx, req)
	maps.Copy(res.Instances, s.ended)
	return res, err
}

// A store with more than 100,000 ended instances grows, unless rules remove some of them. Those that run do not count.
func TestHealthOfAStoreThatGrows(t *testing.T) {
	t.Parallel()
	full := memory.New(memory.Options{})
	t.Cleanup(func() { _ = full.Close() })
	store := &crowded{Full: provider.FullOf(full)}
	logger := slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(t.Context(), store, registry(t), runtime.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Shutdown(context.WithoutCancel(t.Context())) })
	growing := func(want int64) {
		t.Helper()
		if h, err := rt.Health(t.Context()); err != nil || h.Growing != want {
			t.Errorf("%d ended instances are too many, %v, want %d", h.Growing, err, want)
		}
	}
	growing(0)
	store.ended = map[provider.Status]int64{provider.StatusRunning: 1_000_000, provider.StatusCompleted: 99_000, provider.StatusFailed: 1_000}
	growing(0)
	store.ended[provider.StatusTerminated] = 1
	growing(100_001)
	c := clienttest.New(t, store, client.Options{Logger: logger})
	if err := operate.New(c).SetRetention(t.Context(), operate.Retention{}); err != nil {
		t.Fatal(err)
	}
	growing(100_001)
	if err := operate.New(c).SetRetention(t.Context(), operate.Retention{Rules: []operate.RetentionRule{{Age: 24 * time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	growing(0)
}
