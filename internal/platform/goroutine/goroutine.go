// Package goroutine identifies goroutines and shows where they are.
package goroutine

import (
	"bytes"
	"runtime"
	"strconv"
)

// ID returns the number of the calling goroutine, which is unique for the life of the process. It takes a
// nanosecond where the runtime's place of the number is known.
func ID() uint64 {
	if place != 0 {
		return word(place)
	}
	return header()
}

// Bound reports whether the calling goroutine is bound to its thread, as by runtime.LockOSThread. A bound goroutine
// must not run other goroutines' code. Bound returns true if it cannot find out.
func Bound() bool { return binding == 0 || word(binding) != 0 }

// header reads the number from the header of the stack, the only place where Go shows it. It costs microseconds, more
// on a deep stack.
func header() uint64 {
	var buf [64]byte
	id, _ := number(buf[:runtime.Stack(buf[:], false)])
	return id
}

// number reads the number in the header of a stack.
func number(stack []byte) (id uint64, ok bool) {
	rest, ok := bytes.CutPrefix(stack, []byte("goroutine "))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	return id, err == nil
}

// Stacks returns the stacks of the given goroutines that are alive. It stops the world while it writes down the
// stacks of all goroutines.
func Stacks(ids ...uint64) map[uint64]string {
	wanted := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	found := make(map[uint64]string, len(ids))
	for stack := range bytes.SplitSeq(all(), []byte("\n\n")) {
		if id, ok := number(stack); ok && wanted[id] {
			found[id] = string(stack)
		}
	}
	return found
}

const (
	firstDump = 1 << 20  // bytes
	maxDump   = 64 << 20 // some 100,000 goroutines; the rest is cut
)

// all returns the stacks of all goroutines. Each cached execution has at least one, so there may be very many.
func all() []byte {
	for size := firstDump; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= maxDump {
			return buf[:n]
		}
	}
}
