package measure

import "time"

// Usage is what a process has used since it began.
type Usage struct {
	CPU    time.Duration // user and system
	Peak   int64         // the most bytes of memory that it had at a time, since ResetPeak
	Memory int64         // bytes of memory that it has now
}
