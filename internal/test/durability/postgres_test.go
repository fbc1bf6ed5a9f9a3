//go:build unix

package durability

import (
	"context"
	"errors"
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
		all := m.all()
		keeps(t, m.store, all)
		finish(t, m.store, all)
		sound(t, m.store, invariant.Options{Idle: true, Expect: done})
		t.Logf("%d kills, %d acknowledgements", kills, len(all))
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

// market is a shop on a Postgres server of its own, in this process, and the recorder of its acknowledgements.
type market struct {
	t       *testing.T
	cluster *postgrestest.Cluster
	store   provider.Provider
	node    *runtime.Runtime
	callOff context.CancelFunc
	served  chan error
	spoke   chan struct{}

	mu    sync.Mutex
	heard []ack
}

// newMarket opens the shop. It accepts orders until it is stopped.
func newMarket(t *testing.T, settings ...string) *market {
	t.Helper()
	m := &market{t: t, served: make(chan error, 1), spoke: make(chan struct{}, 1)}
	// No background process writes the log, so whatever a commit does not write is lost.
	m.cluster = postgrestest.New(t, append(settings, "fsync=on", "wal_writer_delay=10s")...)
	var err error
	if m.store, err = postgres.OpenWith(t.Context(), m.cluster.URL(), postgres.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.store.Close(); err != nil {
			t.Error(err)
		}
	})
	var s *shop
	s = newShop(m.store, func(a ack) {
		m.hear(a)
		if a.what == asking {
			s.asked <- a
		}
	})
	if m.node, err = s.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	work, end := context.WithCancel(t.Context())
	m.callOff = end
	go func() { m.served <- s.serve(work, "p", customers, 0) }()
	return m
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
	m.callOff()
	if err := errors.Join(<-m.served, shut(m.t.Context(), m.node)); err != nil {
		m.t.Error(err)
	}
}
