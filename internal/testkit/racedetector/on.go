//go:build race

package racedetector

// On tells whether the race detector watches this program.
const On = true
