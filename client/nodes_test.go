package client_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// An instance waits for a newer node if a node runs, and all that run are too old. Otherwise it waits for a node.
func TestANewerNodeIsMissedOnlyBesideAnOlderOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		const level = upgrade.Unrecorded + 4
		_, err := w.store.Create(t.Context(), provider.CreateRequest{
			ID: "newer", Key: provider.UUID(uuid.New()), Commit: provider.UUID(uuid.New()), Name: "Checkout", EngineLevel: level,
			Message: provider.NewMessage{Kind: 1, Payload: []byte("start")},
		})
		if err != nil {
			t.Fatal(err)
		}
		shows := func(when string, newer bool) {
			t.Helper()
			d, err := w.Describe(t.Context(), "newer")
			if err != nil || d.NoNode != newer || len(d.Waits) != 1 || strings.Contains(d.Waits[0].Text, "newer node") != newer {
				t.Errorf("%s: NoNode is %v, and it waits for %q (%v), want a newer node: %v", when, d.NoNode, texts(d.Waits), err, newer)
			}
		}
		join := func(owner string, own int64) {
			t.Helper()
			runs := []provider.Capability{{Name: "Checkout"}}
			level := upgrade.New(provider.FullOf(w.store), own)
			_, err := upgrade.Join(t.Context(), level, owner, runs, slog.New(slog.DiscardHandler), func(n *upgrade.Node) { n.Every = 60 })
			if err != nil {
				t.Fatal(err)
			}
		}
		shows("without a node", false)
		join("older", level-1)
		shows("beside an older node", true)
		time.Sleep(5 * time.Minute) //nolint:forbidigo // virtual time
		shows("once the older node is lost", false)
		join("other", level-1)
		shows("beside another older node", true)
		join("newer", level)
		shows("with a newer node", false)
	})
}
