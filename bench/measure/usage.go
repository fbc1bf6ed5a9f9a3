package measure

import "time"

// Usage is what a process has used since its start.
type Usage struct {
	CPU    time.Duration // user and system
	Peak   int64         // maximum bytes of memory since ResetPeak
	Memory int64         // bytes of memory now
}
