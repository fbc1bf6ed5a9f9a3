//go:build !race

package sqlite

// underRace tells whether the race detector is on.
const underRace = false
