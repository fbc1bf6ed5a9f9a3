package sqlite

import (
	"maps"
	"time"
)

// keepAsked is how long the due moments cover a kind after the last fetch that asked for it, in microseconds. A node fetches
// again after each fetch, so its kinds stay covered while it works.
const keepAsked = int64(time.Minute / time.Microsecond)

// asked are the kinds that fetches of this process ask for. The due moments cover no others: a store may hold many thousands
// of kinds that no call here waits for.
type asked struct{ turns, tasks askedKinds }

type askedKinds struct {
	known map[int64]asking
	fresh []int64 // kinds that the due moments do not cover yet
}

type asking struct {
	last    int64 // by the clock of leases
	covered bool  // by the due moments
}

// ask notes that a fetch asks for a kind.
func (a *askedKinds) ask(kind, elapsed int64) {
	was, known := a.known[kind]
	if !known {
		if a.known == nil {
			a.known = make(map[int64]asking)
		}
		a.fresh = append(a.fresh, kind)
	}
	a.known[kind] = asking{elapsed, was.covered}
}

// covers reports whether the due moments cover a kind.
func (a *askedKinds) covers(kind int64) bool { return a.known[kind].covered }

// cover notes that the due moments cover a kind.
func (a *askedKinds) cover(kind int64) {
	was := a.known[kind]
	a.known[kind] = asking{was.last, true}
}

// forgetBefore drops the kinds that were last asked for before an instant.
func (a *askedKinds) forgetBefore(elapsed int64) {
	maps.DeleteFunc(a.known, func(_ int64, kind asking) bool { return kind.last < elapsed })
}
