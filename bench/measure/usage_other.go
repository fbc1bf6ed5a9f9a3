//go:build !linux

package measure

import "time"

// Self cannot be told here.
func Self() (Usage, bool) { return Usage{}, false }

// Written cannot be told here.
func Written() (int64, bool) { return 0, false }

// ResetPeak cannot be done here.
func ResetPeak() bool { return false }

// Load cannot be told here.
func Load() (float64, bool) { return 0, false }

// InMemory cannot be told here.
func InMemory(string) bool { return false }

// Server cannot be told here.
func Server(int, ...string) (int, bool) { return 0, false }

// Family cannot be told here.
func Family(int) (time.Duration, bool) { return 0, false }
