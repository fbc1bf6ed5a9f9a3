package query

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fits reports whether a history of that size is replayed at once.
func fits(t *testing.T, b *budget, size int64) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	release := b.take(ctx, size)
	if release == nil {
		return false
	}
	release()
	return true
}

// Histories that do not fit into the budget together are replayed one after the other, and one that is too large alone.
func TestHazard48_RebuiltBytesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(maxRebuilds, maxRebuildBytes)
		half := b.take(t.Context(), maxRebuildBytes/2)
		if !fits(t, &b, maxRebuildBytes/2) || fits(t, &b, maxRebuildBytes/2+1) {
			t.Error("with one half in use, one half fits, and no more")
		}
		half()
		alone := b.take(t.Context(), 10*maxRebuildBytes)
		if fits(t, &b, 0) {
			t.Error("one that is too large is not alone")
		}
		alone()
		for range maxRebuilds {
			defer b.take(t.Context(), 1)()
		}
		if fits(t, &b, 1) {
			t.Errorf("more than %d fit", maxRebuilds)
		}
	})
}
