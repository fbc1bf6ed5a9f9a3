package replay

import (
	"sync/atomic"

	"github.com/perdure/perdure/internal/goroutine"
)

// home is the goroutine of a coroutine.
type home struct {
	self atomic.Uint64 // as currentGoroutine names it
	id   atomic.Uint64 // as stacks name it
}

// settle makes the calling goroutine the home.
func (h *home) settle() {
	h.self.Store(currentGoroutine())
	h.id.Store(goroutine.ID())
}

// here tells whether the caller is at home.
func (h *home) here() bool { return currentGoroutine() == h.self.Load() }
