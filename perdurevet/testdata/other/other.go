// Package other uses what orchestration code must not use, and is not looked at.
package other

import "time"

// Stamp returns the time.
func Stamp() time.Time { return time.Now() }
