package replay

import (
	"container/list"

	"github.com/perdure/perdure/internal/history"
)

// Future is the result of an operation that may still be going on. It is settled once.
type Future struct {
	x          *core
	waiting    waitList
	at         int64 // the last message when it was settled, by event ID
	output     []byte
	unread     int              // bytes of a result that code has not read
	failure    *history.Failure // of a remote operation
	err        error            // of the engine
	scope      *Scope
	element    *list.Element // in scope.open
	abandon    func()        // records that code gives the operation up; nil if there is nothing to record
	askToEnd   func()        // instead of abandon: asks the operation to end, and code waits for its end
	settled    bool
	askedToEnd bool
	read       bool     // code has had the result
	stays      bool     // the operation stays pending when code has given it up: a child that continues
	outlives   bool     // a child that the end of the execution leaves alone
	counts     bool     // among operations.activities, until it is settled
	asked      bool     // a child that tells of its start
	then       func()   // runs when it is settled
	child      [16]byte // the key of a child instance, else zero
	activity   string   // its name; "": it is no activity of a queue
	reply      *awaited // that settles it; nil: none does
	begun      *Future  // of the start of a child; nil: code has not asked for it
}

// Ready implements Source.
func (f *Future) Ready() bool { return f.settled }

// Failed reports whether it is settled with an error. Code has not read it by that.
func (f *Future) Failed() bool { return f.settled && (f.err != nil || f.failure != nil) }

func (f *Future) since() int64 { return f.at }

func (f *Future) list() *waitList { return &f.waiting }

// Result returns the output, or an error that is decoded for each reader. Code must have
// waited for the future before.
func (f *Future) Result() ([]byte, error) {
	f.x.sched.checkCaller()
	f.x.retained -= f.unread
	f.unread = 0
	f.read = true
	switch {
	case f.err != nil:
		return nil, f.err
	case f.failure != nil:
		return nil, f.x.env.Errors.Decode(*f.failure)
	default:
		return f.output, nil
	}
}

// Cancel gives the operation up. It records the command and settles the future with err, unless
// code waits for the operation's own end. It does nothing to a settled future.
func (f *Future) Cancel(err error) {
	f.x.sched.enter()
	f.cancel(err)
}

func (f *Future) cancel(err error) {
	if f.settled {
		return
	}
	if f.askToEnd != nil {
		f.askToEndOnce()
		return
	}
	if f.abandon != nil {
		f.abandon()
	}
	f.err = err
	f.settle()
	f.endStart(err)
}

// endStart settles the future of the start of a child that code has given up.
func (f *Future) endStart(err error) {
	if f.begun != nil && !f.stays {
		f.begun.cancel(err)
	}
}

// close removes the future from its scope, as no cancellation has to reach it any more.
func (f *Future) close() {
	if f.element != nil {
		f.scope.open.Remove(f.element)
		f.element = nil
		f.scope.leave()
	}
}

func (f *Future) settle() {
	f.settled, f.at = true, f.x.events.message
	f.close()
	f.waiting.wakeAll()
	if f.counts {
		f.x.pending.activities--
	}
	if f.then != nil {
		f.then()
	}
}

// complete settles the future with the result in a message.
func (f *Future) complete(output []byte, failure *history.Failure, message history.Body) {
	if f.settled {
		return
	}
	f.output, f.failure = output, failure
	if output != nil || failure != nil {
		f.unread = int(history.Size(message))
		f.x.retained += f.unread
	}
	f.settle()
}

// newFuture makes an open future that is cancelled with the scope.
func (s *Scope) newFuture() *Future {
	f := &Future{x: s.x, scope: s}
	f.element = s.open.PushBack(f)
	return f
}

// Failed returns a settled future: code that waits for it gets err.
func (s *Scope) Failed(err error) *Future {
	s.x.sched.checkCaller()
	return s.failed(err)
}

func (s *Scope) failed(err error) *Future {
	return &Future{x: s.x, settled: true, err: err}
}

// cancelling sets what giving up the activity of event id does. That was stored when the activity was scheduled. Code
// of another release may ask for something else by now.
func (f *Future) cancelling(id, how int64) {
	request := func() { f.x.events.emit(&history.ActivityCancelRequested{Scheduled: id, How: how}) }
	if how == history.CancelWait {
		f.askToEnd = request
		return
	}
	f.abandon = func() {
		request()
		delete(f.x.pending.futures, id)
		if how == history.CancelAbandon {
			f.counts = false // see operations.activities
		}
	}
}

// askToEndOnce asks the operation to end. The future stays open until it has.
func (f *Future) askToEndOnce() {
	if f.askedToEnd {
		return
	}
	f.askedToEnd = true
	f.close()
	f.askToEnd()
}

// Ending reports whether the operation was asked to end and has not ended yet. A coroutine that waits only for it
// keeps waiting, also in a scope that is over.
func (f *Future) Ending() bool { return f.askedToEnd && !f.settled }

// awaitsEndOnly reports whether code waits for one future alone and that future was asked to end.
func awaitsEndOnly(sources []Source) bool {
	if len(sources) != 1 {
		return false
	}
	f, ok := sources[0].(*Future)
	return ok && f.askedToEnd
}
