//go:build !race

package racedetector

// On reports whether the race detector is on.
const On = false
