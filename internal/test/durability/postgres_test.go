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

// kills is how often a server is killed in one run.
const kills = 4

// All processes of a Postgres server are killed at random moments under load, and it starts again on the same data. All that was told before is
// there while work goes on, and in the end all orders have the outcome that their code implies.
//
// What is lost by such a death is what the server had in its own memory: commits that were answered before they were written. That
// they are on the disk, too, is Postgres' own promise under fsync=on, which the server of this test has; `perdure bench` refuses others.
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
				return // what is broken will not mend
			}
		}
		m.close()
		all := m.all()
		keeps(t, m.store, all)
		finish(t, m.store, all)
		sound(t, m.store, invariant.Options{Quiet: true, Expect: done})
		t.Logf("%d kills, after all of which %d things were told", kills, len(all))
	})
}

// A server that answers before it has written is found out by the same means. What it loses is what stands on the last page of its log, which may be
// nothing: then it is killed again.
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
			t.Logf("%d of %d things that were told are lost", len(lost), len(all))
			m.giveUp()
			return
		}
	}
	t.Error("nothing was found to be lost")
	m.close()
}

// market is a shop on a Postgres of its own, in this process, and who hears what it tells.
type market struct {
	t       *testing.T
	cluster *postgrestest.Cluster
	store   provider.Provider
	node    *runtime.Runtime
	callOff context.CancelFunc
	served  chan error
	spoke   chan struct{}

	mu    sync.Mutex
	heard []told
}

// newMarket opens the shop, which takes orders until it is called off.
func newMarket(t *testing.T, settings ...string) *market {
	t.Helper()
	m := &market{t: t, served: make(chan error, 1), spoke: make(chan struct{}, 1)}
	// Nobody writes the log by the way: what a commit does not write is lost.
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
	s = newShop(m.store, func(a told) {
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

func (m *market) hear(a told) {
	m.mu.Lock()
	m.heard = append(m.heard, a)
	m.mu.Unlock()
	select {
	case m.spoke <- struct{}{}:
	default:
	}
}

// all answers all that was told.
func (m *market) all() []told {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.heard)
}

// hearMore waits until n more things were told.
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

// giveUp closes a shop whose customers are told what makes no sense, as things were lost.
func (m *market) giveUp() {
	m.t.Helper()
	m.callOff()
	if err := <-m.served; err != nil {
		m.t.Logf("a customer is told: %v", err)
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
