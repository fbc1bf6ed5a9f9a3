//go:build unix

package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// A process that dies within its transaction leaves nothing of it, and others can write.
func TestOwnTransactionOfADeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{BusyTimeout: time.Minute})
	cmd, in, lines := startChild(t, "own", path)
	defer in.Close() //nolint:errcheck // the child is dead
	if !lines.Scan() || lines.Text() != "began 1" {
		t.Fatal(lines.Text())
	}
	waits := make(chan error, 1)
	go func() { waits <- createIn(t.Context(), p, "after") }()
	await(t, "the store to wait in the queue", func() bool {
		p.store.writeQueue.mu.Lock()
		defer p.store.writeQueue.mu.Unlock()
		return p.store.writeQueue.pending != nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := <-waits; err != nil {
		t.Error(err)
	}
	res, err := p.Count(t.Context(), provider.CountRequest{})
	if err != nil || res.Count != 1 {
		t.Errorf("%d instances (%v): want that of the survivor", res.Count, err)
	}
}
