package task

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/provider"
)

// Attempt is one run of an activity on this node.
type Attempt struct {
	manage.Attempt

	Call       *history.ActivityScheduled
	instanceID string
	Number     int64 // the attempt, from 1
	before     int64 // of these: inside turns, not counted by the task
	Deliveries int64
	suspect    bool // it runs alone
	scheduled  provider.Time
	deadline   provider.Time // of the call; 0: none
	expires    time.Time     // when the start-to-close timeout expires; zero: never
	details    []byte        // heartbeat details of an earlier attempt
	completion provider.Completion

	Cause   func() error  // returns why the context of the user's function has ended, if it has
	life    life          // decides what ends it
	Done    chan struct{} // closed when the attempt has ended, by its code or its completer
	places  flow.Places   // in pools
	Watched leak.Code
	later   later
	user    *bind.Attempt // for package activity

	began provider.Time     // by the storage's clock
	past  []history.Attempt // the attempts before this one
	last  history.Failure   // of the attempt before this one
}

// Result is the outcome of an attempt on its way to the execution that waits for it.
type Result struct {
	Attempt *Attempt
	Body    history.Body
	details []byte

	Came    time.Time                  // when the execution got it
	Timeout atomic.Pointer[time.Timer] // of its wait for the execution
}

// HandedOff makes the attempt of a task that the commit of a turn leases to its own node.
func HandedOff(ref provider.TaskRef, instanceID string, call *history.ActivityScheduled, scheduled provider.Time, lease time.Duration) *Attempt {
	return &Attempt{
		Attempt: manage.Attempt{Ref: ref, Token: storage.NewToken(), Lease: manage.NewLease(lease)},
		Call:    call, instanceID: instanceID, Number: 1 + call.Attempts, before: call.Attempts, Deliveries: 1,
		scheduled: scheduled, deadline: deadline(scheduled, Span(call.ScheduleToClose)),
	}
}

// stored returns the attempt's number as its task counts.
func (a *Attempt) stored() int64 { return a.Number - a.before }

// Ref returns the reference of a task.
func Ref(key provider.UUID, execution, event int64) provider.TaskRef {
	return provider.TaskRef{Key: key, Execution: execution, EventID: event}
}

// Begin returns the context for Run. It is nil if the lease has become too short; then the task is released.
func (w *Worker) Begin(working context.Context, a *Attempt) context.Context {
	if !a.Lease.Startable() {
		w.releaseUnbegun(working, a)
		return nil
	}
	w.Work.Add()
	w.Count.AttemptsRunning.Add(1)
	a.places = w.pools.Take(a.Call.Queue, a.Call.Name)
	ctx, cancel := context.WithCancelCause(working)
	a.Cancel = cancel
	a.Done = make(chan struct{})
	a.user = &bind.Attempt{}
	a.began = w.Clock.Now()
	a.later = later{w, a}
	a.Owner = &a.later
	w.Manage.StartBeating(&a.Attempt, w.Config.Pace(a.Call))
	w.Manage.Add(&a.Attempt)
	return ctx
}

// Run runs the user's function and reports how it ended, even if the function calls Goexit. It returns the result for the caller to
// deliver; nil: none.
func (w *Worker) Run(working, ctx context.Context, a *Attempt) (left *Result) {
	a.Watched.RunsOn(goroutine.ID())
	ctx, stop := w.contextOf(ctx, a)
	a.Cause = func() error { return context.Cause(ctx) }
	// After the context has ended, the code has the grace period to return.
	stopGrace := context.AfterFunc(ctx, func() { w.grace(working, a, context.Cause(ctx)) })
	free := func() {
		stopGrace()
		stop()
		a.Cancel(nil)
	}
	var output []byte
	var err error
	returned := false
	defer func() {
		w.Watchdog.Returned(&a.Watched)
		if !returned {
			err = w.Panicked(a, "called runtime.Goexit")
		}
		if w.keepPending(working, ctx, a, err, free) {
			if ctx.Err() != nil { // it ended while the watchdog still waited for the code
				go w.gracePending(working, a, context.Cause(ctx))
			}
			return
		}
		defer free()
		stopGrace()
		left = w.codeEnded(working, a, a.Cause(), output, err)
		if !returned || goroutine.Bound() { // this goroutine must not be reused
			w.executions.Deliver(working, left)
			left = nil
		}
	}()
	output, err = w.RunUser(ctx, a)
	returned = true
	return left
}

// DiscardLate drops the result of an abandoned attempt, whose task was reported when the grace period was over.
func (w *Worker) DiscardLate(a *Attempt, err error) {
	w.Count.ResultsLate.Add(1)
	w.Config.Logger.Warn("result of a leaked activity discarded", "activity", a.Call.Name, "instance", a.instanceID,
		"attempt", a.Number, "err", err)
}

// codeEnded ends an attempt whose code has returned. The outcome of a completer takes precedence over that of the code. It returns what
// settle returns.
func (w *Worker) codeEnded(working context.Context, a *Attempt, cause error, output []byte, err error) *Result {
	parked := cause == nil && failure.Wraps(err, activity.ErrParked)
	given, _, ok := a.life.end(whyOver(cause, parked))
	if !ok {
		w.DiscardLate(a, err)
		return nil
	}
	close(a.Done)
	switch {
	case given != nil:
		if !failure.Wraps(err, activity.ErrPending) {
			w.Config.Logger.Warn("activity returned although its completer had ended it: what it returned is dropped",
				"activity", a.Call.Name, "instance", a.instanceID, "err", err)
		}
		return w.settle(working, a, cause, given.Output, given.Err)
	case parked:
		return w.park(working, a)
	default:
		return w.settle(working, a, cause, output, err)
	}
}

// contextOf returns the context of the user's function, with deadline, identity and heartbeat.
func (w *Worker) contextOf(ctx context.Context, a *Attempt) (context.Context, context.CancelFunc) {
	info := bind.Info{
		Activity: a.Call.Name, Queue: a.Call.Queue, InstanceID: a.instanceID, Execution: a.Ref.Execution, EventID: a.Ref.EventID,
		Attempt: int(a.Number), Deliveries: int(a.Deliveries), Scheduled: a.scheduled.Std(), HeartbeatTimeout: a.HeartbeatTimeout(), Session: a.Call.Session,
	}
	ctx, stop, deadline := w.limited(ctx, a)
	info.Deadline = deadline
	ctx = provider.WithCompletion(ctx, &a.completion)
	u := a.user
	u.Info, u.Key, u.Details, u.Beat, u.Later = info, idempotencyKey(a), a.details, func(details []byte) { w.Manage.Heartbeat(&a.Attempt, details) }, &a.later
	u.Logger = w.Config.Logger
	return bind.WithAttempt(ctx, u), stop
}

func idempotencyKey(a *Attempt) string {
	id := strconv.FormatInt(a.Ref.EventID, 10)
	if a.Call.Local != 0 {
		id = localIdentity(a.Call)
	}
	return a.Ref.Key.String() + "/" + strconv.FormatInt(a.Ref.Execution, 10) + "/" + id
}

// freeSlot releases the slot.
func (w *Worker) freeSlot(a *Attempt) {
	a.StopBeating()
	w.Count.AttemptsRunning.Add(-1)
	w.pools.Release(a.places)
	w.Tasks.Release(1)
}

// RunUser runs the user's function. A panic is a failure of the attempt.
func (w *Worker) RunUser(ctx context.Context, a *Attempt) (output []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.Panicked(a, fmt.Sprintf("panicked: %v", p))
		}
	}()
	output, err = w.Config.Activities[a.Call.Queue][a.Call.Name](ctx, a.Call.Input)
	if err == nil {
		err = w.judge.fits(a, output)
	}
	return output, err
}

// Panicked returns the failure of an attempt whose code did not return. It logs the failure, which a retry may hide. The caller is on the
// code's stack.
func (w *Worker) Panicked(a *Attempt, how string) error {
	stack := string(debug.Stack())
	w.Config.Logger.Error("activity panicked", "activity", a.Call.Name, "instance", a.instanceID, "attempt", a.Number, "err", how, "stack", stack)
	return failure.New(failure.ErrPanic, "activity %s %s\n%s", a.Call.Name, how, stack)
}
