//go:build unix

package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

func TestHazard18_StoppedProcessDoesNotHangTheOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{BusyTimeout: 50 * time.Millisecond})
	other, err := openFileLock(path, time.Minute) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	lock := func() {
		t.Helper()
		if err := other.lock(); err != nil {
			t.Fatal(err)
		}
	}
	lock()
	for range 3 { // the first waits in the queue, the others take over its wait
		if err := createIn(t.Context(), p, "one"); provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
			t.Fatalf("error %v: want one that says nothing happened and may be retried", err)
		}
	}
	other.unlock()
	lock() // the place that was given up must not keep the lock
	other.unlock()
	if err := createIn(t.Context(), p, "one"); err != nil {
		t.Fatal("the file lock is free again:", err)
	}
	lock()
	if err := createIn(t.Context(), p, "two"); err == nil {
		t.Fatal("two have the file lock")
	}
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Close hangs")
	}
	other.unlock()
}

// Calls that come while their process waits for its turn join the group that waits.
func TestGroupTakesAlongWhoComesWhileItWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	other, err := openFileLock(path, time.Minute) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.lock(); err != nil {
		t.Fatal(err)
	}
	before := p.store.writer.commits.Load()
	created := make(chan error, 3)
	begin := func(id string) { go func() { created <- createIn(t.Context(), p, id) }() }
	begin("first")
	await(t, "the first to wait in the queue", func() bool {
		p.store.writeQueue.mu.Lock()
		defer p.store.writeQueue.mu.Unlock()
		return p.store.writeQueue.pending != nil
	})
	begin("second")
	begin("third")
	await(t, "the others", func() bool { return queued(p) == 2 })
	other.unlock()
	for range 3 {
		if err := <-created; err != nil {
			t.Error(err)
		}
	}
	if n := p.store.writer.commits.Load() - before; n != 1 {
		t.Errorf("%d commits: want one for all that had come when the turn did", n)
	}
}
