package bench

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
)

// A sequential step takes one commit, as counted by SQLite's own commit hook. The start takes one, the first turn one,
// and each result one.
func TestCommitsPerStep(t *testing.T) {
	n, end := newNode(t)
	t.Cleanup(end)
	store, c := n.Store, n.Client
	for _, w := range []struct {
		name       string
		activities int
		atMost     int64
	}{
		{"a W1 orchestration", 5, 7},
		{"a chain of 100 activities", 100, 102},
	} {
		// On a stalled machine a step may take the slow path. The best of three tries shows what the engine asks of
		// the store.
		best := int64(1 << 30)
		for range 3 {
			if _, err := store.FetchTurns(t.Context(), idle()); err != nil {
				t.Fatal(err)
			}
			before := commits(store)
			h, err := client.Start(t.Context(), c, workload.Chain, workload.Load{N: w.activities})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			best = min(best, commits(store)-before)
		}
		if best > w.atMost {
			t.Errorf("%s made %d commits, want at most %d", w.name, best, w.atMost)
		}
	}
}

// idle is a fetch that finds nothing and waits a moment, so that the loops of the runtime park.
func idle() provider.FetchTurnsRequest {
	return provider.FetchTurnsRequest{
		Owner: "nobody", Token: provider.UUID{1}, Lease: time.Second, Max: 1, Wait: 20 * time.Millisecond,
		Capabilities: []provider.Capability{{Name: "nothing"}},
	}
}
