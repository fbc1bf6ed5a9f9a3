package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

// Under steady calls the writer looks for a lull less and less often, until there is one.
func TestLullIsLookedForMoreAndMoreSeldom(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "lull.db"), Options{})
	create(t, p, "any", "nobody")
	w := p.store.writer
	w.helm.Lock()
	defer w.helm.Unlock()
	b := &w.backlog
	b.written = b.copied + checkpointAfter
	for last, n := b.pause(), 0; n < 10; last, n = b.pause(), n+1 {
		b.last = time.Now().Add(time.Hour) // calls continue
		if copied, err := b.checkpoint(w.tx.db); copied || err != nil {
			t.Fatal("there was no lull:", err)
		}
		if now := b.pause(); now != min(2*last, lull<<maxMissed) {
			t.Errorf("after %v it pauses for %v", last, now)
		}
	}
	b.last = time.Now().Add(-lull)
	if copied, err := b.checkpoint(w.tx.db); err != nil || !copied || b.long() || b.pause() != lull {
		t.Errorf("after a lull: %+v, %v", b, err)
	}
}
