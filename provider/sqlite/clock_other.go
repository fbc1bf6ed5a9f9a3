//go:build !linux

package sqlite

import "time"

// bootMicros falls back to the wall clock where no clock counts through sleep and is
// shared by all processes.
func bootMicros() int64 { return time.Now().UnixMicro() }

func bootID() string { return "" }
