//go:build unix

package durability

import (
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
)

// pair starts a Postgres server with a standby, and returns a URL that leads to the one that takes writes.
func pair(t *testing.T) (primary, standby *postgrestest.Cluster, url string) {
	t.Helper()
	primary = postgrestest.New(t)
	standby = primary.Standby(t)
	return primary, standby, postgrestest.URLOf(primary, standby)
}

// The primary is killed under load, and its synchronous standby is promoted. All that was acknowledged is there, and
// the same node and clients work on.
func TestFailOverToASynchronousStandby(t *testing.T) {
	t.Parallel()
	random := dice(t)
	soak(t, func(t *testing.T) {
		primary, standby, url := pair(t)
		primary.WaitForStandbys(t)
		m := newMarketAt(t, primary, url, postgres.Options{})
		m.begin("p")
		m.hearMore(50 + random.IntN(200))
		primary.Kill(t)
		all := m.all()
		standby.Promote(t)
		here := storeAt(t, standby.URL(), postgres.Options{})
		keeps(t, here, all)
		if t.Failed() {
			m.giveUp()
			return // damage does not mend itself
		}
		m.hearMore(100)
		m.close()
		m.check(t, here)
	})
}

// The primary is killed, and a standby is promoted that has not got the last commits. These are lost: no store can do
// anything about that. What the node has computed on top of them is not stored, so that no order has a history of two
// servers. Whatever was stored before and since is there, and all that is left of the orders ends as their code implies.
func TestFailOverToAStandbyThatIsBehind(t *testing.T) {
	t.Parallel()
	random := dice(t)
	soak(t, func(t *testing.T) {
		primary, standby, url := pair(t)
		m := newMarketAt(t, primary, url, postgres.Options{})
		m.shop.mayLose = true
		m.begin("p")
		m.hearMore(50 + random.IntN(100))
		before := m.all()
		standby.Detach(t, primary)
		m.hearMore(100 + random.IntN(100))
		primary.Kill(t)
		told := m.all()
		standby.Promote(t)
		since := len(m.all())
		here := storeAt(t, standby.URL(), postgres.Options{})
		lost, err := missing(t.Context(), here, told)
		if err != nil {
			t.Fatal(err)
		}
		if len(lost) == 0 {
			t.Error("the standby was not behind")
		}
		keeps(t, here, before)
		m.rest() // customers whose orders are lost would wait for ever
		m.begin("q")
		m.hearMore(100)
		m.close()
		kept := slices.Concat(before, m.all()[since:])
		keeps(t, here, kept)
		finish(t, here, withAsked(t, here, kept, told))
		sound(t, here, invariant.Options{Idle: true, Expect: done})
		t.Logf("%d of %d acknowledgements were lost, %d have come since", len(lost), len(m.all()), len(m.all())-since)
	})
}

// withAsked adds the stored activities that wait for approval and whose acknowledgement came too late to be kept.
func withAsked(t *testing.T, store provider.Provider, kept, told []ack) []ack {
	t.Helper()
	asked := slices.DeleteFunc(told, func(a ack) bool { return a.what != asking })
	lost, err := missing(t.Context(), store, asked)
	if err != nil {
		t.Fatal(err)
	}
	return append(kept, slices.DeleteFunc(asked, func(a ack) bool { return slices.Contains(lost, a) })...)
}
