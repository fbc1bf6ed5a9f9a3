//go:build amd64 || arm64

package goroutine

// fields is how many bytes of the runtime's record of a goroutine are searched for its number. The record is longer.
const fields = 256

// word reads 8 bytes of the runtime's record of the calling goroutine.
func word(offset uintptr) uint64
