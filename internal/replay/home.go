package replay

import (
	"bytes"
	"runtime"
	"strconv"
	"sync/atomic"
)

// home is the goroutine of a coroutine.
type home struct {
	self atomic.Uint64 // as currentGoroutine names it
	id   atomic.Uint64 // as stacks name it
}

// settle makes the calling goroutine the home.
func (h *home) settle() {
	h.self.Store(currentGoroutine())
	h.id.Store(goroutineID())
}

// here tells whether the caller is at home.
func (h *home) here() bool { return currentGoroutine() == h.self.Load() }

// goroutineID reads the number of the calling goroutine from its stack header, the only
// place where Go shows it. It costs some microseconds.
func goroutineID() uint64 {
	var buf [64]byte
	header := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(header, []byte(" "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		return 0
	}
	return id
}
