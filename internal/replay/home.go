package replay

import (
	"bytes"
	"runtime"
	"strconv"
	"sync/atomic"
	"unsafe"
)

// home is the goroutine of a coroutine. Go has no cheap way to ask which goroutine is
// running, so it is recognised by its stack: a block of 2 KiB belongs to one stack at a time.
// Only a call from a block that was not seen before is checked the slow way. A block can change
// hands when the stack moves, so that once in a blue moon a foreign call goes unnoticed; a call
// of the coroutine itself is never taken for a foreign one.
type home struct {
	id     atomic.Uint64
	blocks [4]atomic.Uintptr // by the lowest bits of their number
}

// stackBlock is the size of the smallest stack, of which all sizes and addresses are multiples.
const stackBlock = 2 << 10

// settle makes the calling goroutine the home.
func (h *home) settle() { h.id.Store(goroutineID()) }

// here tells whether the caller is at home.
func (h *home) here(slowly bool) bool {
	var local byte
	//nolint:gosec // the address is compared, never followed
	block := uintptr(unsafe.Pointer(&local)) / stackBlock
	seen := &h.blocks[block%uintptr(len(h.blocks))]
	if seen.Load() == block && !slowly {
		return true
	}
	if goroutineID() != h.id.Load() {
		return false
	}
	seen.Store(block)
	return true
}

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
