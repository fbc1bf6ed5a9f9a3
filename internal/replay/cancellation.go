package replay

import "github.com/perdure/perdure/internal/history"

// cancelling sets what giving up the activity of event id does. That was stored when the activity was scheduled. Code
// of another release may ask for something else by now.
func (f *Future) cancelling(id, how int64) {
	request := func() { f.x.events.emit(&history.ActivityCancelRequested{Scheduled: id, How: how}) }
	if how == history.CancelWait {
		f.ask = request
		return
	}
	f.abandon = func() {
		request()
		delete(f.x.pending.futures, id)
		if how == history.CancelAbandon {
			f.then = nil // see operations.activities
		}
	}
}

// askOnce asks the operation to end. The future stays open until it has.
func (f *Future) askOnce() {
	if f.asked {
		return
	}
	f.asked = true
	f.close()
	f.ask()
}

// Ending reports whether the operation was asked to end and has not ended yet. A coroutine that waits only for it
// keeps waiting, also in a scope that is over.
func (f *Future) Ending() bool { return f.asked && !f.settled }

// ending reports whether code waits for one future alone and that future is ending.
func ending(sources []Source) bool {
	if len(sources) != 1 {
		return false
	}
	f, ok := sources[0].(*Future)
	return ok && f.Ending()
}
