//go:build !amd64 && !arm64

package replay

import "github.com/perdure/perdure/internal/goroutine"

// currentGoroutine answers the number of the calling goroutine.
func currentGoroutine() uint64 { return goroutine.ID() }
