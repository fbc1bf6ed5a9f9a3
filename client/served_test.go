package client_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// A start by name takes the newest version that a listed node has. The list is read every ten seconds at most, never inside a
// transaction of the caller, and never by a start that has its version. While it cannot be read again, what is known holds.
func TestStartByNameKnowsTheNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &recorded{Full: provider.FullOf(memory.New(memory.Options{}))}
		defer func() { _ = store.Close() }()
		c := clienttest.New(t, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
		client.OfLevel(c, 1) // settled: it reads no record of the level
		serve := func(owner string, versions ...string) {
			t.Helper()
			var runs []provider.Capability
			for _, v := range versions {
				runs = append(runs, provider.Capability{Name: "Checkout", CodeVersion: v})
			}
			if _, err := upgrade.Join(t.Context(), upgrade.New(store.Full, 1), owner, runs, slog.New(slog.DiscardHandler), nil); err != nil {
				t.Fatal(err)
			}
		}
		starts := func(what, want string, calls int64, opts ...client.StartOption) {
			t.Helper()
			before := store.calls.Load()
			for range 3 {
				h, err := client.StartNamed[receipt](t.Context(), c, "Checkout", order{}, opts...)
				if err != nil {
					t.Fatal(err)
				}
				if h.Key().IsZero() {
					continue
				}
				res, err := store.Get(t.Context(), provider.GetRequest{Key: h.Key()})
				if err == nil && res.Instance.CodeVersion != want {
					t.Errorf("%s: version %q, want %q", what, res.Instance.CodeVersion, want)
				}
			}
			if got := store.calls.Load() - before; got != calls {
				t.Errorf("%s: %d reads, want %d", what, got, calls)
			}
		}
		serve("a", "9", "")
		starts("by version", "7", 0, client.WithVersion("7"))
		starts("in a transaction", "", 0, provider.Tx{})
		starts("first", "9", 1)
		serve("b", "10")
		starts("within ten seconds", "9", 0)
		time.Sleep(10 * time.Second) //nolint:forbidigo // in a bubble
		starts("after ten seconds", "10", 1)
		store.fail.Store(true)
		time.Sleep(10 * time.Second) //nolint:forbidigo // in a bubble
		before := time.Now()
		h, err := client.StartNamed[receipt](t.Context(), c, "Checkout", order{})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := store.Get(t.Context(), provider.GetRequest{Key: h.Key()}); err != nil || res.Instance.CodeVersion != "10" || time.Since(before) > 3*time.Second {
			t.Errorf("a list that cannot be read: %q after %v, %v", res.Instance.CodeVersion, time.Since(before), err)
		}
	})
}
