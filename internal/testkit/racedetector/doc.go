// Package racedetector tells tests whether the race detector is on, so that long ones can leave to shorter ones what they do not
// find themselves: under it everything takes several times as long. It is for tests only.
package racedetector
