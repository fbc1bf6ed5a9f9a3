package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// The kernel reports a commit of another process, so no look is needed. It reports the beginning of the commit, so the writer
// looks until the commit has come.
func TestHazard38_KernelTellsOfForeignCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	w := p.store.writer
	other := startPeer(t, "one", path)
	var took []time.Duration
	for range 7 {
		got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
		awaitParked(t, w, 1)
		settled(t, p)
		w.helm.Lock()
		w.foreign.looked = time.Now().Add(time.Hour) // no look is due by time
		w.helm.Unlock()
		w.queue.Wake()
		await(t, "a long rest", func() bool {
			w.helm.Lock()
			defer w.helm.Unlock()
			return time.Until(w.wakes) > 5*time.Second
		})
		other.tell()
		wantTurn(t, got)
		took = append(took, time.Since(time.UnixMicro(other.hears("began"))))
	}
	p50 := percentile(took, 50)
	t.Logf("p50 %v", p50)
	if p50 > 100*time.Millisecond { // the slow look after one that was too early would take 250 ms
		t.Errorf("p50 %v: want 10ms on a quiet machine", p50)
	}
}

// Without writes the writer rarely looks, though a call waits.
func TestIdleWriterDoesNotLook(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	got := fetchTurns(ctx, p, fetchOf("y", newToken(), time.Minute))
	awaitParked(t, p.store.writer, 1)
	settled(t, p)
	if d := p.store.writer.foreign.interval(true); d != lookCold {
		t.Errorf("it looks each %v", d)
	}
	cancel()
	<-got
}

// Where the kernel does not report our own commits, it is not trusted to report those of others.
func TestKernelThatTellsNothingIsNotTrusted(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	w := p.store.writer
	without(t, p)
	other, err := openNews(t.TempDir(), w.queue.Wake) // to which nothing is written
	if err != nil {
		t.Fatal(err)
	}
	w.helm.Lock()
	w.foreign.news = other
	w.helm.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	got := fetchTurns(ctx, p, fetchOf("y", newToken(), time.Minute))
	awaitParked(t, w, 1)
	settled(t, p)
	create(t, p, "one", "x")
	await(t, "distrust", func() bool {
		w.helm.Lock()
		defer w.helm.Unlock()
		return w.foreign.deaf && w.foreign.interval(true) < lookCold
	})
	cancel()
	<-got
}
