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
	other, err := openTurnstile(path, time.Minute) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	enter := func() {
		t.Helper()
		if err := other.enter(); err != nil {
			t.Fatal(err)
		}
	}
	enter()
	for range 3 { // the first waits in line, the others take over its wait
		if err := createIn(t.Context(), p, "one"); provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
			t.Fatalf("error %v: want one that says nothing happened and may be retried", err)
		}
	}
	other.leave()
	enter() // the place that was given up must not keep the lock
	other.leave()
	if err := createIn(t.Context(), p, "one"); err != nil {
		t.Fatal("the turnstile is free again:", err)
	}
	enter()
	if err := createIn(t.Context(), p, "two"); err == nil {
		t.Fatal("two in the turnstile")
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
	other.leave()
}

// Calls that come while their process waits for its turn join the group that waits.
func TestGroupTakesAlongWhoComesWhileItWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	other, err := openTurnstile(path, time.Minute) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.enter(); err != nil {
		t.Fatal(err)
	}
	before := p.store.writer.commits.Load()
	created := make(chan error, 3)
	begin := func(id string) { go func() { created <- createIn(t.Context(), p, id) }() }
	begin("first")
	await(t, "the first to stand in line", func() bool {
		p.store.gate.mu.Lock()
		defer p.store.gate.mu.Unlock()
		return p.store.gate.place != nil
	})
	begin("second")
	begin("third")
	await(t, "the others", func() bool { return queued(p) == 2 })
	other.leave()
	for range 3 {
		if err := <-created; err != nil {
			t.Error(err)
		}
	}
	if n := p.store.writer.commits.Load() - before; n != 1 {
		t.Errorf("%d commits: want one for all that had come when the turn did", n)
	}
}
