package model

import (
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// Each provider of Quick is cleaned up before the next one is opened.
func TestQuickCleansUpAfterEachSequence(t *testing.T) {
	var opened, inUse atomic.Int64
	t.Run("quick", func(t *testing.T) {
		Quick(t, func(t *testing.T) provider.Provider {
			t.Helper()
			opened.Add(1)
			if n := inUse.Add(1); n != 1 {
				t.Errorf("%d providers are in use, want 1", n)
			}
			p := memory.New(memory.Options{})
			t.Cleanup(func() {
				inUse.Add(-1)
				_ = p.Close()
			})
			return p
		})
	})
	if opened.Load() == 0 || inUse.Load() != 0 {
		t.Errorf("%d providers opened, %d still in use, want some and none", opened.Load(), inUse.Load())
	}
}
