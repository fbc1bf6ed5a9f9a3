//go:build unix

package durability

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

// kills is the number of kills of the server in one run.
const kills = 4

// All processes of a Postgres server are killed at random moments under load, and the server restarts on the same data.
// Everything acknowledged before is there while work continues, and all orders end with the outcome of their code.
//
// A kill loses what the server had only in its own memory: commits that were acknowledged before they were written.
// Postgres itself promises with fsync=on that they are also on disk. The server of this test has that setting, and
// perdure-bench refuses any other.
func TestKilledPostgresHasStoredWhatItTold(t *testing.T) {
	t.Parallel()
	random := dice(t)
	soak(t, func(t *testing.T) {
		m := newMarket(t)
		for range kills {
			m.hearMore(20 + random.IntN(200))
			if random.IntN(2) == 0 {
				pass(time.Duration(random.IntN(5000)) * time.Microsecond)
			}
			m.cluster.Kill(t)
			all := m.all()
			m.cluster.Start(t)
			keeps(t, m.store, all)
			if t.Failed() {
				m.giveUp()
				return // damage does not mend itself
			}
		}
		m.close()
		m.check(t, m.store)
		t.Logf("%d kills, %d acknowledgements", kills, len(m.all()))
	})
}

// The same test finds a server that acknowledges before it writes. A kill loses the last page of its log, which may be
// empty; then the server is killed again.
func TestCarelessPostgresIsFoundOut(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "synchronous_commit=off")
	random := dice(t)
	for range 10 {
		m.hearMore(20 + random.IntN(50))
		m.cluster.Kill(t)
		all := m.all()
		m.cluster.Start(t)
		lost, err := missing(t.Context(), m.store, all)
		if err != nil {
			t.Fatal(err)
		}
		if len(lost) > 0 {
			t.Logf("%d of %d acknowledgements are lost", len(lost), len(all))
			m.giveUp()
			return
		}
	}
	t.Error("nothing was found to be lost")
	m.close()
}

// market is a shop on a Postgres server, in this process, and the recorder of its acknowledgements.
type market struct {
	t       *testing.T
	cluster *postgrestest.Cluster
	store   provider.Provider
	shop    *shop
	node    *runtime.Runtime
	callOff context.CancelFunc
	served  chan error
	spoke   chan struct{}

	mu    sync.Mutex
	heard []ack
}

// newMarket opens the shop on a server of its own. It accepts orders until it is stopped.
func newMarket(t *testing.T, settings ...string) *market {
	t.Helper()
	// No background process writes the log, so whatever a commit does not write is lost.
	cluster := postgrestest.New(t, append(settings, "fsync=on", "wal_writer_delay=10s")...)
	m := newMarketAt(t, cluster, cluster.URL(), postgres.Options{})
	m.begin("p")
	return m
}

// newMarketAt opens the shop at the URL of a server. It accepts no orders yet.
func newMarketAt(t *testing.T, cluster *postgrestest.Cluster, url string, o postgres.Options) *market {
	t.Helper()
	m := &market{t: t, cluster: cluster, store: storeAt(t, url, o), spoke: make(chan struct{}, 1)}
	m.shop = newShop(m.store, func(a ack) {
		m.hear(a)
		if a.what == asking {
			m.shop.asked <- a
		}
	})
	var err error
	if m.node, err = m.shop.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// storeAt opens a store and closes it at the end of the test.
func storeAt(t *testing.T, url string, o postgres.Options) provider.Provider {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	store, err := postgres.OpenWith(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// begin lets customers order until callOff. Their orders have the name of the shop.
func (m *market) begin(name string) {
	work, end := context.WithCancel(m.t.Context())
	served := make(chan error, 1)
	m.callOff, m.served = end, served
	go func() { served <- m.shop.serve(work, name, customers, 0) }()
}

// rest ends the work, but not the node.
func (m *market) rest() {
	m.t.Helper()
	m.callOff()
	if err := <-m.served; err != nil {
		m.t.Error(err)
	}
}

func (m *market) hear(a ack) {
	m.mu.Lock()
	m.heard = append(m.heard, a)
	m.mu.Unlock()
	select {
	case m.spoke <- struct{}{}:
	default:
	}
}

// all returns all acknowledgements so far.
func (m *market) all() []ack {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.heard)
}

// hearMore waits for n more acknowledgements.
func (m *market) hearMore(n int) {
	m.t.Helper()
	for until := len(m.all()) + n; len(m.all()) < until; {
		select {
		case <-m.spoke:
		case err := <-m.served:
			m.t.Fatalf("the shop has closed: %v", err)
		case <-m.t.Context().Done():
			m.t.Fatal("the shop has fallen silent")
		}
	}
}

// check looks for all that was acknowledged, and lets the orders end.
func (m *market) check(t *testing.T, store provider.Provider) {
	t.Helper()
	all := m.all()
	keeps(t, store, all)
	if t.Failed() {
		return // an order that lost data may never end
	}
	finish(t, store, all)
	sound(t, store, invariant.Options{Idle: true, Expect: done})
}

// giveUp closes a shop whose data was lost, and ignores its errors.
func (m *market) giveUp() {
	m.t.Helper()
	m.callOff()
	if err := <-m.served; err != nil {
		m.t.Logf("a customer sees: %v", err)
	}
	if err := shut(m.t.Context(), m.node); err != nil {
		m.t.Error(err)
	}
}

// close ends the work and the node.
func (m *market) close() {
	m.t.Helper()
	m.rest()
	if err := shut(m.t.Context(), m.node); err != nil {
		m.t.Error(err)
	}
}
