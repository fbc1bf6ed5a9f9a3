//go:build unix

package durability

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider/postgres"
)

// cuts is how often all connections of one run are cut.
const cuts = 30

// All connections to a Postgres server are cut at random moments under load, again and again. The proxy that does so also
// delays what the server returns, so that many a commit is stored and its acknowledgement lost. Each is repeated, and
// nothing is stored twice.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	random := dice(t)
	soak(t, func(t *testing.T) {
		cluster := postgrestest.New(t)
		proxy := cluster.Proxy(t, 2*time.Millisecond)
		m := newMarketAt(t, cluster, proxy.URL(), postgres.Options{})
		m.begin("p")
		for range cuts {
			m.hearMore(1 + random.IntN(40))
			pass(time.Duration(random.IntN(5000)) * time.Microsecond)
			proxy.Cut()
		}
		m.hearMore(50)
		s := m.node.Stats()
		m.close()
		m.check(t, storeAt(t, cluster.URL(), postgres.Options{}))
		if s.StorageErrors < cuts || s.TurnsFailed+s.AttemptsFailed > 0 {
			t.Errorf("after %d cuts: %+v", cuts, s)
		}
	})
}

// A Postgres server behind PgBouncer in transaction mode is killed, and starts again. That is survived as without
// PgBouncer, with notifications from the server itself and without any.
func TestKilledPostgresBehindPgBouncer(t *testing.T) {
	t.Parallel()
	random := dice(t)
	for name, listens := range map[string]bool{"with ListenURL": true, "without ListenURL": false} {
		more := random.IntN(100)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			soak(t, func(t *testing.T) {
				cluster := postgrestest.New(t)
				o := postgres.Options{Pooler: true}
				if listens {
					o.ListenURL = cluster.URL()
				}
				m := newMarketAt(t, cluster, cluster.Pooler(t), o)
				other := newShop(storeAt(t, cluster.Pooler(t), o), m.shop.report) // another process, which only the pooler leads to
				node, err := other.open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				m.begin("p")
				for range 2 {
					m.hearMore(50 + more)
					cluster.Kill(t)
					cluster.Start(t)
				}
				m.hearMore(50)
				m.close()
				if err := shut(t.Context(), node); err != nil {
					t.Error(err)
				}
				m.check(t, storeAt(t, cluster.URL(), postgres.Options{}))
			})
		})
	}
}

// All tables are rewritten by VACUUM FULL under load, which locks each of them. Calls wait, and nothing else comes of it.
func TestVacuumFullUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := postgrestest.New(t)
	m := newMarketAt(t, cluster, cluster.URL(), postgres.Options{})
	m.begin("p")
	for range 5 {
		m.hearMore(50)
		postgrestest.VacuumFull(t, cluster.URL(), "perdure")
	}
	m.hearMore(50)
	s := m.node.Stats()
	m.close()
	m.check(t, storeAt(t, cluster.URL(), postgres.Options{}))
	if s.TurnsFailed+s.AttemptsFailed+s.AttemptsPoisoned > 0 {
		t.Errorf("%+v", s)
	}
}
