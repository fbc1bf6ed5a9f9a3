package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// The kernel reports a commit of another process, so no poll is needed. It reports the beginning of the commit, so the writer
// polls until the commit has come.
func TestHazard38_KernelTellsOfForeignCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	w := p.store.writer
	other := startPeer(t, "one", path)
	inSomeRound(t, func() error {
		var took []time.Duration
		for range 7 {
			got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
			awaitWaiting(t, w, 1)
			awaitWatching(t, p)
			w.lock.Lock()
			w.others.polledAt = time.Now().Add(time.Hour) // no poll is due by time
			w.lock.Unlock()
			w.queue.Wake()
			await(t, "a long rest", func() bool {
				w.lock.Lock()
				defer w.lock.Unlock()
				return time.Until(w.wakeAt) > 5*time.Second
			})
			other.send()
			wantTurn(t, got)
			took = append(took, time.Since(time.UnixMicro(other.receive("began"))))
		}
		p50 := percentile(took, 50)
		t.Logf("p50 %v", p50)
		if p50 > 100*time.Millisecond { // the slow poll after one that was too early would take 250 ms
			return fmt.Errorf("p50 %v: want 10ms on a quiet machine", p50)
		}
		return nil
	})
}

// Without writes the writer rarely polls, though a call waits.
func TestIdleWriterDoesNotPoll(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	got := fetchTurns(ctx, p, fetchOf("y", newToken(), time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	awaitWatching(t, p)
	if d := p.store.writer.others.pollInterval(true); d != pollIdle {
		t.Errorf("it polls each %v", d)
	}
	cancel()
	<-got
}

// Where the kernel does not report our own commits, it is not trusted to report those of others.
func TestKernelThatTellsNothingIsNotTrusted(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	w := p.store.writer
	dropWatcher(t, p)
	other, err := openLogWatcher(t.TempDir(), w.queue.Wake) // to which nothing is written
	if err != nil {
		t.Fatal(err)
	}
	w.lock.Lock()
	w.others.logWatcher = other
	w.lock.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	got := fetchTurns(ctx, p, fetchOf("y", newToken(), time.Minute))
	awaitWaiting(t, w, 1)
	awaitWatching(t, p)
	create(t, p, "one", "x")
	await(t, "distrust", func() bool {
		w.lock.Lock()
		defer w.lock.Unlock()
		return w.others.watcherUnreliable && w.others.pollInterval(true) < pollIdle
	})
	cancel()
	<-got
}
