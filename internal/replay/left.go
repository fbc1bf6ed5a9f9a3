package replay

import (
	"slices"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// Left is what the code of an ended execution left behind. Nobody hears of it but by the log.
type Left struct {
	Unread     []string // names of the events that it was given and did not take; none when it continues as new
	Coroutines int      // that had not returned
	Errors     []string // of coroutines, whose futures nobody read
}

// maxLeft bounds how many errors are kept to be told of.
const maxLeft = 20

// leftError is the error of a coroutine.
type leftError struct {
	of   *Future
	text string
}

// keepError notes a coroutine that ended with an error. It is told of unless somebody reads its future, or it is
// the engine's cancellation. The coroutine calls it: methods of the error are user code.
func (x *Execution) keepError(f *Future) {
	stored := x.env.Errors.Encode(f.err)
	if failure.IsCancelled(&stored) {
		return
	}
	x.failed = slices.DeleteFunc(x.failed, func(e leftError) bool { return e.of.read })
	if len(x.failed) < maxLeft {
		x.failed = append(x.failed, leftError{f, stored.Message})
	}
}

// Left returns what the code of an ended execution left behind; nil if that is nothing.
func (x *Execution) Left() *Left {
	if x.end == nil || x.end.Terminated {
		return nil
	}
	left := Left{Coroutines: len(x.coroutines)}
	if x.end.Next == nil {
		for _, m := range x.mailboxOrder {
			for i := range m.unread {
				left.Unread = append(left.Unread, m.unread[i].Body.(*history.EventReceived).Name)
			}
		}
	}
	for _, e := range x.failed {
		if !e.of.read {
			left.Errors = append(left.Errors, e.text)
		}
	}
	if left.Coroutines == 0 && len(left.Unread) == 0 && len(left.Errors) == 0 {
		return nil
	}
	return &left
}
