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
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// An order to a queue that no node serves says so: its name may be wrong. A node that does not list all that it serves may serve it.
func TestAnOrderToAnUnknownQueueSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		check := func(when string, want bool) {
			t.Helper()
			for name, order := range map[string]func() (operate.Confirmation, error){
				"pause": func() (operate.Confirmation, error) {
					return operate.New(w.Client).PauseQueue(t.Context(), "payments", "", operate.ConfirmWithin(0))
				},
				"resume": func() (operate.Confirmation, error) {
					return operate.New(w.Client).ResumeQueue(t.Context(), "payments", "", operate.ConfirmWithin(0))
				},
			} {
				if done, err := order(); err != nil || done.NoNode != want {
					t.Errorf("%s, %s: %+v, %v: want NoNode %v", when, name, done, err, want)
				}
			}
		}
		join := func(owner string, change func(n *upgrade.Node)) {
			t.Helper()
			if _, err := upgrade.Join(t.Context(), upgrade.New(provider.FullOf(w.store), 9), owner, nil, slog.New(slog.DiscardHandler), change); err != nil {
				t.Fatal(err)
			}
		}
		check("without a node", true)
		join("other", func(n *upgrade.Node) { n.Every, n.Queues = 60, []upgrade.Queue{{Name: "payment"}} })
		check("with a node of another queue", true)
		join("cut", func(n *upgrade.Node) { n.Every, n.Cut = 60, true })
		check("with a node that lists a part", false)
	})
}

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
