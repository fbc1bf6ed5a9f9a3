package replay

import (
	"slices"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Leftovers is what the code of an ended execution left behind. Only the log mentions it.
type Leftovers struct {
	Unread     []string // names of received events that code did not take; none if it continues as new
	Coroutines int      // that had not returned
	Errors     []string // of coroutines whose futures were not read, at most maxLost
	Lost       int      // how many such errors there are
}

// maxLost bounds how many errors are kept for the log.
const maxLost = 20

// lostErrors are the errors of coroutines whose futures were not read so far.
type lostErrors struct {
	all  []lostError
	more int // that are not in all: code may read some of them later
}

type lostError struct {
	of   *Future
	text string
}

// keep notes a coroutine that ended with an error, unless that is the engine's cancellation. The coroutine calls it:
// methods of the error are user code.
func (l *lostErrors) keep(errs *failure.Set, f *Future) {
	stored := errs.Encode(f.err)
	if failure.IsCancelled(&stored) {
		return
	}
	l.all = slices.DeleteFunc(l.all, func(e lostError) bool { return e.of.read })
	if len(l.all) < maxLost {
		l.all = append(l.all, lostError{f, stored.Message})
	} else {
		l.more++
	}
}

// Leftovers returns what the code of an ended execution left behind, nil if that is nothing.
func (v View) Leftovers() *Leftovers {
	if v.x.end == nil || v.x.end.Terminated {
		return nil
	}
	leftovers := Leftovers{Coroutines: len(v.x.sched.coroutines)}
	if v.x.end.Next == nil {
		for _, e := range v.x.unread() {
			leftovers.Unread = append(leftovers.Unread, e.Body.(*history.EventReceived).Name)
		}
	}
	for _, e := range v.x.lost.all {
		if !e.of.read {
			leftovers.Errors = append(leftovers.Errors, e.text)
		}
	}
	leftovers.Lost = len(leftovers.Errors) + v.x.lost.more
	if leftovers.Coroutines == 0 && len(leftovers.Unread) == 0 && len(leftovers.Errors) == 0 {
		return nil
	}
	return &leftovers
}
