//go:build !amd64 && !arm64

package replay

// currentGoroutine answers the number of the calling goroutine.
func currentGoroutine() uint64 { return goroutineID() }
