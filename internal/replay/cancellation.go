package replay

import "github.com/perdure/perdure/internal/history"

// cancelling says what giving up the activity of event id does, as was stored when it was
// scheduled: code of another release may ask for something else by now.
func (f *Future) cancelling(id, how int64) {
	request := func() { f.x.emit(&history.ActivityCancelRequested{Scheduled: id, How: how}) }
	if how == history.CancelWait {
		f.ask = request
		return
	}
	f.abandon = func() {
		request()
		f.x.dropPending(id)
		if how == history.CancelAbandon {
			f.then = nil // it counts among the pending ones until the execution ends: its task may be there so long
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

// Awaits tells whether the execution goes on and waits for an answer to the event.
func (x *Execution) Awaits(id int64) bool { return x.end == nil && x.pending[id] != nil }

// Ending tells whether the operation was asked to end and has not yet: who waits for it alone
// goes on waiting, also in a scope that is over.
func (f *Future) Ending() bool { return f.asked && !f.settled }

// ending is Ending for what code waits for.
func ending(sources []Source) bool {
	if len(sources) != 1 {
		return false
	}
	f, ok := sources[0].(*Future)
	return ok && f.Ending()
}
