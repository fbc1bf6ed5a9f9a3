package sqlite

import (
	"maps"
	"time"
)

// keepWatched is how long the due moments cover a kind after the last fetch that watched it, in microseconds. A node fetches
// again after each fetch, so its kinds stay covered while it works.
const keepWatched = int64(time.Minute / time.Microsecond)

// watchedKinds are the kinds that fetches of this process watch. The due moments cover no others: a store may hold many thousands
// of kinds that no call here waits for.
type watchedKinds struct{ turns, tasks kindWatches }

type kindWatches struct {
	known map[int64]kindWatch
	fresh []int64 // kinds that the due moments do not cover yet
}

type kindWatch struct {
	last    int64 // by the clock of leases
	covered bool  // by the due moments
}

// watch notes that a fetch watches a kind.
func (w *kindWatches) watch(kind, elapsed int64) {
	was, known := w.known[kind]
	if !known {
		if w.known == nil {
			w.known = make(map[int64]kindWatch)
		}
		w.fresh = append(w.fresh, kind)
	}
	w.known[kind] = kindWatch{elapsed, was.covered}
}

// covers reports whether the due moments cover a kind.
func (w *kindWatches) covers(kind int64) bool { return w.known[kind].covered }

// cover notes that the due moments cover a kind.
func (w *kindWatches) cover(kind int64) {
	was := w.known[kind]
	w.known[kind] = kindWatch{was.last, true}
}

// forgetBefore drops the kinds that were last watched before an instant.
func (w *kindWatches) forgetBefore(elapsed int64) {
	maps.DeleteFunc(w.known, func(_ int64, kind kindWatch) bool { return kind.last < elapsed })
}
