package durability

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider/postgres"
)

// disk mounts a small disk for a server. The test is skipped without the right to mount.
func disk(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "perdure-disk-") // the server's user could not enter a folder of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another user must enter it
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return dir
}

// fill leaves no space on the disk.
func fill(t *testing.T, dir string) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for chunk := make([]byte, 4096); err == nil; {
		_, err = f.Write(chunk)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	return ballast
}

// The disk of a Postgres server is full under load, until calls fail or the server ends itself. All that was acknowledged
// is there, and all orders end when there is space again.
func TestFullDiskUnderPostgres(t *testing.T) {
	dir := disk(t)
	cluster := postgrestest.NewIn(t, dir, "max_wal_size=48MB", "min_wal_size=32MB")
	m := newMarketAt(t, cluster, cluster.URL(), postgres.Options{})
	m.begin("p")
	for range 2 {
		m.hearMore(50)
		failed := m.node.Stats().StorageErrors
		ballast := fill(t, dir)
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
