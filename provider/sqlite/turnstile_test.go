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
	for range 3 { // the first waits in line, the others take its place up again
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
