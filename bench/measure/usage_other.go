//go:build !linux

package measure

import "time"

// Self is not supported here.
func Self() (Usage, bool) { return Usage{}, false }

// Written is not supported here.
func Written() (int64, bool) { return 0, false }

// ResetPeak is not supported here.
func ResetPeak() bool { return false }

// Load is not supported here.
func Load() (float64, bool) { return 0, false }

// InMemory is not supported here.
func InMemory(string) bool { return false }

// Server is not supported here.
func Server(int, ...string) (int, bool) { return 0, false }

// Family is not supported here.
func Family(int) (time.Duration, bool) { return 0, false }
