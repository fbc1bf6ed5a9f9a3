package replay

import (
	"container/list"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// maxRuns bounds the runs of event handlers at a time. Later events wait in their order.
const maxRuns = 1_000

// handlerJob is the tree of handlers that stands next to that of the main function. Its coroutines run in a scope of
// their own, so that they may go on when the main function has returned.
type handlerJob struct {
	scope   *Scope                   // nil: none has begun
	over    error                    // why it is cancelled, set also before it is made
	runs    list.List                // of *handlerRun, oldest first
	holding int                      // of runs: those that hold the end
	events  map[string]*eventHandler // by event name; nil: none
	any     *anyEventHandler         // of all other names; nil: none
	listens bool                     // a message that nothing waits for may begin a run: each registration sets it
	bytes   int                      // of names
	fresh   int                      // runs for events and updates that waited, which have not run yet
	waiting int                      // events that have a handler and wait in mailboxes, because maxRuns are running
	grace   int64                    // see Scope.SetHandlerGrace, in microseconds; 0: not set
	failed  int                      // runs for events that ended with an error since the last confirmed commit
	late    int                      // runs that ended too late for the next execution since then; see core.inputTaken
	ended   waitList                 // for the ends of runs
	endedAt int64                    // the last message when a run ended, by event ID
	shut    int                      // calls of ContinueLate that keep the door shut: no message begins a run
	taking  int                      // calls that make the input of the next execution, or have made it
}

// handlerRun is a run of a handler, from the message that began it until its function returns or the execution ends.
type handlerRun struct {
	kind    string // such as runOfEvent
	name    string
	began   int64 // event ID of the message
	abandon bool  // it does not hold the end of the execution
	// done gets the error of the function, or errAbandoned. It is called once, as part of a turn, and may emit. If the
	// function has returned, its coroutine makes the call.
	done func(err error)
	// panicked returns the fault of the turn if code of the run panics. nil, or the result nil: a *PanicError.
	panicked func(value, stack string) error
	scope    *Scope
	queued   *openUpdate   // an accepted update that waits for its turn; nil: the function has begun
	fresh    bool          // see handlerJob.fresh
	unread   history.Event // that began it
	place    *list.Element // in handlerJob.runs; nil: it has ended
}

// errAbandoned says that the execution ended before a run of a handler did.
var errAbandoned = errors.New("the execution ended before the handler returned")

func (j *handlerJob) size() int { return j.bytes + namedBytes*(len(j.events)+j.runs.Len()) }

// beginRun begins a run: body will run as a coroutine of the handlers.
func (x *core) beginRun(r *handlerRun, body func(*Scope) error) {
	j := &x.job
	if j.scope == nil {
		j.scope = &Scope{x: x, err: j.over}
	}
	scope := j.scope.newChild()
	scope.run, r.scope = r, scope
	r.place = j.runs.PushBack(r)
	if !r.abandon {
		j.holding++
	}
	x.sched.spawnFirst(r, func() {
		x.sched.current.Load().began = r.began
		if r.fresh {
			r.fresh = false
			j.fresh--
		}
		err := body(scope)
		scope.done = true
		scope.leave()
		x.endRun(r, err)
		x.handleWaiting(false)
	})
}

// endRun ends a run and says so, once.
func (x *core) endRun(r *handlerRun, err error) {
	if r.place == nil {
		return
	}
	x.job.runs.Remove(r.place)
	r.place = nil
	if !r.abandon {
		x.job.holding--
	}
	x.job.endedAt = x.events.message
	x.job.ended.wakeAll()
	r.done(err)
}

// abandonRuns ends all runs, oldest first, because the execution ends.
func (x *core) abandonRuns() {
	for e := x.job.runs.Front(); e != nil && x.sched.fault == nil; e = x.job.runs.Front() {
		x.endRun(e.Value.(*handlerRun), errAbandoned)
	}
}

// carryFreshRuns leaves to the next execution what no handler has begun with. The input of that execution was made before, so it
// knows nothing of what these handlers would do.
func (x *core) carryFreshRuns() {
	var left []*handlerRun
	for e := x.job.runs.Front(); e != nil; e = e.Next() {
		if r := e.Value.(*handlerRun); r.fresh {
			left = append(left, r)
		}
	}
	for _, r := range left {
		x.sched.drop(r)
		x.endRun(r, nil)
	}
	for _, r := range slices.Backward(left) {
		if r.kind == runOfEvent {
			x.mailbox(r.name).putBack(r.unread)
		}
	}
	x.job.fresh = 0
}

// cancel cancels the scope of the handlers. Those that begin later find it cancelled.
func (j *handlerJob) cancel(reason error) {
	if j.over == nil {
		j.over = reason
	}
	if j.scope != nil {
		j.scope.cancel(reason)
	}
}

// inputTaken reports whether the next execution can hardly know what a handler does now.
func (x *core) inputTaken() bool {
	return x.job.taking > 0
}

// logLate logs and counts a run that has ended too late for the next execution.
func (x *core) logLate(r *handlerRun) {
	if !x.events.replaying.Load() {
		x.job.late++
	}
	write(func() {
		x.ownLogger().Warn("a handler ended after the input of the next execution was made, which lacks its changes: "+
			"use ContinueAsNewAfterHandlers", "kind", r.kind, "name", r.name, "event_id", r.began)
	})
}

// queuedRuns returns the runs that wait for their turn while the door is shut, oldest first.
func (x *core) queuedRuns() []*handlerRun {
	if x.job.shut == 0 {
		return nil
	}
	return x.waitingRuns()
}

// waitingRuns returns the runs that wait for their turn, oldest first.
func (x *core) waitingRuns() (queued []*handlerRun) {
	for e := x.job.runs.Front(); e != nil; e = e.Next() {
		if r := e.Value.(*handlerRun); r.queued != nil {
			queued = append(queued, r)
		}
	}
	return queued
}

// handlerGrace returns what SetHandlerGrace has set, or the default, in microseconds.
func (j *handlerJob) handlerGrace() int64 {
	if j.grace == 0 {
		return defaultGrace
	}
	return j.grace
}
