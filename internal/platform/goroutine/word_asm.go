//go:build amd64 || arm64

package goroutine

// fields is how many bytes of what the runtime keeps of a goroutine are looked through for its number. All of it is longer.
const fields = 256

// word reads 8 bytes of what the runtime keeps of the calling goroutine.
func word(offset uintptr) uint64
