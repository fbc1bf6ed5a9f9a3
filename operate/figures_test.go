package operate_test

import (
	"log/slog"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// The state of the store counts what waits, and what no listed node runs.
func TestStoreFigures(t *testing.T) {
	t.Parallel()
	w := clienttest.NewWorld(t, client.Options{})
	w.Start(client.WithVersion("2"))
	w.Start(client.WithVersion("3"))
	unserved := func(when string, want int64) {
		t.Helper()
		s, err := operate.New(w.Client).StoreFigures(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Instances["running"] != 2 || len(s.Turns) != 1 || s.Turns[0].Count != 2 {
			t.Errorf("%s: %+v", when, s)
		}
		if got := s.Unserved["orchestration"]; got != want {
			t.Errorf("%s: %d instances are unserved, want %d", when, got, want)
		}
	}
	unserved("without a node", 2)
	runs := []provider.Capability{{Name: "Checkout", CodeVersion: "2"}}
	if _, err := upgrade.Join(t.Context(), upgrade.New(provider.FullOf(w.Store), 99), "one", runs, slog.New(slog.DiscardHandler), nil); err != nil {
		t.Fatal(err)
	}
	unserved("with a node of one version", 1)
}
