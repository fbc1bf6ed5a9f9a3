package replay

import (
	"sync/atomic"

	"github.com/perdure/perdure/internal/platform/goroutine"
)

// home is the goroutine of a coroutine, by its number.
type home struct{ id atomic.Uint64 }

// settle makes the calling goroutine the home.
func (h *home) settle() { h.id.Store(goroutine.ID()) }

// here tells whether the caller is at home. It is cheap enough to check every call of code.
func (h *home) here() bool { return goroutine.ID() == h.id.Load() }
