// Package racedetector reports whether the race detector is on. Everything takes several times as long under it, so
// long tests can leave work to shorter ones. The package is for tests only.
package racedetector
