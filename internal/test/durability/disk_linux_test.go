package durability

import (
	"os"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/smalldisk"
	"github.com/perdure/perdure/provider/postgres"
)

// The disk of a Postgres server is full under load, until calls fail or the server ends itself. All that was acknowledged
// is there, and all orders end when there is space again.
func TestFullDiskUnderPostgres(t *testing.T) {
	dir := smalldisk.Mount(t, "160m")
	cluster := postgrestest.NewIn(t, dir, "max_wal_size=48MB", "min_wal_size=32MB")
	m := newMarketAt(t, cluster, cluster.URL(), postgres.Options{})
	m.begin("p")
	for range 2 {
		m.hearMore(50)
		failed := m.node.Stats().StorageErrors
		ballast := smalldisk.Fill(t, dir)
		m.until("calls to fail", func() bool { return m.node.Stats().StorageErrors > failed+5 })
		all := m.all()
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		cluster.Revive(t)
		keeps(t, storeAt(t, cluster.URL(), postgres.Options{}), all)
	}
	m.hearMore(50)
	s := m.node.Stats()
	m.close()
	m.check(t, storeAt(t, cluster.URL(), postgres.Options{}))
	if s.TurnsFailed+s.AttemptsFailed+s.AttemptsPoisoned > 0 {
		t.Errorf("%+v", s)
	}
}

// until looks until a condition holds. A node sends no notification of its figures.
func (m *market) until(what string, cond func() bool) {
	m.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(time.Minute)
	defer over.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-over.C:
			m.t.Fatalf("waited for %s", what)
		}
	}
}
