package operate_test

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// An order to a queue that no node serves says so: its name may be wrong. A node that does not list all that it serves may serve it.
func TestAnOrderToAnUnknownQueueSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := clienttest.NewWorld(t, client.Options{})
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
			if _, err := upgrade.Join(t.Context(), upgrade.New(provider.FullOf(w.Store), 9), owner, nil, slog.New(slog.DiscardHandler), change); err != nil {
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
