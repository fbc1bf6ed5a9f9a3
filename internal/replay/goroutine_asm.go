//go:build amd64 || arm64

package replay

// currentGoroutine answers the address at which the runtime keeps the calling goroutine.
// It is compared and never followed. No two goroutines that live have the same, and a parked
// coroutine lives: so every call of code can be checked, for about a nanosecond. Reading the
// goroutine's number instead costs as much as a whole step of the scheduler.
func currentGoroutine() uint64
