package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

// Under steady calls the writer looks for a lull more and more seldom, until there is one.
func TestLullIsLookedForMoreAndMoreSeldom(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "lull.db"), Options{})
	create(t, p, "any", "nobody")
	w := p.store.writer
	w.helm.Lock()
	defer w.helm.Unlock()
	b := &w.backlog
	b.written = b.copied + checkpointAfter
	for last, n := b.pause(), 0; n < 10; last, n = b.pause(), n+1 {
		b.last = time.Now().Add(time.Hour) // somebody goes on calling
		if w.checkpoint() {
			t.Fatal("there was no lull")
		}
		if now := b.pause(); now != min(2*last, lull<<maxMissed) {
			t.Errorf("after %v it pauses for %v", last, now)
		}
	}
	b.last = time.Now().Add(-lull)
	if !w.checkpoint() || b.long() || b.pause() != lull {
		t.Errorf("after a lull: %+v", b)
	}
}
