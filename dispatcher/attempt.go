package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/provider"
)

// Short names for the causes that the dispatcher gives.
var (
	errOrchestrationEnded   = activity.ErrOrchestrationEnded
	errOrchestrationMissing = activity.ErrOrchestrationMissing
	errCancelled            = activity.ErrCancelled
	errLeaseLost            = activity.ErrLeaseLost
	errShutdown             = activity.ErrShutdown
)

// attempt is one run of an activity on this node.
type attempt struct {
	manage.Attempt

	call       *history.ActivityScheduled
	instanceID string
	number     int64 // the attempt, from 1
	before     int64 // of these: inside a turn, of which its task does not know
	deliveries int64
	suspect    bool // it runs alone
	scheduled  provider.Time
	deadline   provider.Time // of the call; 0: none
	expires    time.Time     // when its own start-to-close timeout passes; zero: none
	details    []byte        // heartbeat details of an earlier attempt
	completion provider.Completion

	cause    func() error // why the context of the user's function has ended, if it has
	patience atomic.Pointer[time.Timer]
	life     life          // who ends it
	done     chan struct{} // closed when user code came back, with a result or later
	places   flow.Places   // in pools
	watched  leak.Code
	later    later
	user     *activity.Attempt // what its functions are told
	local    *local            // it began inside a turn

	began provider.Time     // by the storage's clock
	past  []history.Attempt // the attempts before this one
	last  history.Failure   // of the attempt before this one
}

// stored is the attempt's number as its task counts.
func (a *attempt) stored() int64 { return a.number - a.before }

func taskRef(key provider.UUID, execution, event int64) provider.TaskRef {
	return provider.TaskRef{Key: key, Execution: execution, EventID: event}
}

// startAttempt runs an attempt, whose slot is taken, on a goroutine of its own.
func (d *Dispatcher) startAttempt(working context.Context, a *attempt) {
	if ctx := d.beginAttempt(working, a); ctx != nil {
		go func() { d.drive(working, d.resume(working, d.runAttempt(working, ctx, a)), nil) }()
	}
}

// beginAttempt returns the context of an attempt that is to be run. It is nil if the lease has become too short, and if the attempt already runs.
func (d *Dispatcher) beginAttempt(working context.Context, a *attempt) context.Context {
	if a.local != nil {
		d.goOn(working, a)
		return nil
	}
	if !a.Lease.Startable() {
		d.giveUnbegun(working, a)
		return nil
	}
	d.work.Add()
	d.count.attemptsRunning.Add(1)
	a.places = d.pools.Take(a.call.Queue, a.call.Name)
	ctx, cancel := context.WithCancelCause(working)
	a.Cancel = cancel
	a.done = make(chan struct{})
	a.user = &activity.Attempt{}
	a.began = d.clock.Now()
	a.later = later{d, a}
	a.Owner = &a.later
	d.manage.StartBeating(&a.Attempt, d.cfg.pace(a.call))
	d.manage.Add(&a.Attempt)
	return ctx
}

// runAttempt runs the user's function and reports how it ended, also when the function
// ends the goroutine by Goexit. It returns the result that is left for the caller to deliver; nil: none.
func (d *Dispatcher) runAttempt(working, ctx context.Context, a *attempt) (left *result) {
	a.watched.RunsOn(goroutine.ID())
	ctx, stop := d.attemptContext(ctx, a)
	a.cause = func() error { return context.Cause(ctx) }
	// When the context ends, the code has the grace period to come back.
	stopGrace := context.AfterFunc(ctx, func() { d.grace(working, a, context.Cause(ctx)) })
	free := func() {
		stopGrace()
		stop()
		a.Cancel(nil)
	}
	var output []byte
	var err error
	returned := false
	defer func() {
		d.watchdog.Returned(&a.watched)
		if !returned {
			err = d.panicked(a, "called runtime.Goexit")
		}
		if d.keepPending(working, ctx, a, err, free) {
			if ctx.Err() != nil { // it ended on the way, when the watchdog still waited for the code
				go d.gracePending(working, a, context.Cause(ctx))
			}
			return
		}
		defer free()
		stopGrace()
		left = d.codeEnded(working, a, a.cause(), output, err)
		if !returned || goroutine.Bound() { // nothing else may run on this goroutine
			d.deliver(working, left)
			left = nil
		}
	}()
	output, err = d.runUser(ctx, a)
	returned = true
	return left
}

// cameLate discards the result of an attempt that was left behind: its task was dealt with when the grace period was over.
func (d *Dispatcher) cameLate(a *attempt, err error) {
	d.count.resultsLate.Add(1)
	d.cfg.Logger.Warn("result of a leaked activity discarded", "activity", a.call.Name, "instance", a.instanceID,
		"attempt", a.number, "err", err)
}

// codeEnded ends an attempt whose code has ended for good. The outcome of a completer goes before that of the code. The result is as of settle.
func (d *Dispatcher) codeEnded(working context.Context, a *attempt, cause error, output []byte, err error) *result {
	parked := cause == nil && failure.Wraps(err, activity.ErrParked)
	given, _, ok := a.life.end(whyOver(cause, parked))
	if !ok {
		d.cameLate(a, err)
		return nil
	}
	close(a.done)
	switch {
	case given != nil:
		if !failure.Wraps(err, activity.ErrPending) {
			d.cfg.Logger.Warn("activity returned although its completer had ended it: what it returned is dropped",
				"activity", a.call.Name, "instance", a.instanceID, "err", err)
		}
		return d.settle(working, a, cause, given.output, given.err)
	case parked:
		return d.park(working, a)
	default:
		return d.settle(working, a, cause, output, err)
	}
}

// attemptContext is what the user's function gets: deadline, identity and heartbeat.
func (d *Dispatcher) attemptContext(ctx context.Context, a *attempt) (context.Context, context.CancelFunc) {
	info := activity.Info{
		Activity: a.call.Name, Queue: a.call.Queue, InstanceID: a.instanceID, Execution: a.Ref.Execution, EventID: a.Ref.EventID,
		Attempt: int(a.number), Deliveries: int(a.deliveries), Scheduled: a.scheduled.Std(), HeartbeatTimeout: a.HeartbeatTimeout(), Session: a.call.Session,
	}
	ctx, stop, deadline := d.limited(ctx, a)
	info.Deadline = deadline
	ctx = provider.WithCompletion(ctx, &a.completion)
	u := a.user
	u.Info, u.Key, u.Details, u.Beat, u.Later = info, idempotencyKey(a), a.details, func(details []byte) { d.manage.Heartbeat(&a.Attempt, details) }, &a.later
	u.Logger = d.cfg.Logger
	return activity.WithAttempt(ctx, u), stop
}

func idempotencyKey(a *attempt) string {
	id := strconv.FormatInt(a.Ref.EventID, 10)
	if a.call.Local != 0 {
		id = localIdentity(a.call)
	}
	return a.Ref.Key.String() + "/" + strconv.FormatInt(a.Ref.Execution, 10) + "/" + id
}

// attemptEnded frees the slot.
func (d *Dispatcher) attemptEnded(a *attempt) {
	a.StopBeating()
	d.count.attemptsRunning.Add(-1)
	d.pools.Release(a.places)
	d.tasks.Release(1)
}

// runUser runs the user's function. A panic is a failure of the attempt.
func (d *Dispatcher) runUser(ctx context.Context, a *attempt) (output []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = d.panicked(a, fmt.Sprintf("panicked: %v", p))
		}
	}()
	output, err = d.cfg.Activities[a.call.Queue][a.call.Name](ctx, a.call.Input)
	if err == nil {
		err = d.fits(a, output)
	}
	return output, err
}

// panicked returns the failure of an attempt whose code did not return, and logs it: a retry may hide it from all others. It is called
// while the code's stack is still there.
func (d *Dispatcher) panicked(a *attempt, how string) error {
	stack := string(debug.Stack())
	d.cfg.Logger.Error("activity panicked", "activity", a.call.Name, "instance", a.instanceID, "attempt", a.number, "err", how, "stack", stack)
	return failure.New(failure.ErrPanic, "activity %s %s\n%s", a.call.Name, how, stack)
}

// countFailed counts an attempt that ended its call with an error. One that was told to stop and obeyed has not failed.
func (d *Dispatcher) countFailed(a *attempt, cause error) {
	if errors.Is(cause, errCancelled) || a.Unwanted() {
		d.count.attemptsCancelled.Add(1)
		return
	}
	d.count.attemptsFailed.Add(1)
}

// fits refuses an output that no history takes.
func (d *Dispatcher) fits(a *attempt, output []byte) error {
	if int64(len(output)) <= d.cfg.Settings.MaxPayload {
		return nil
	}
	return failure.NonRetryable(failure.New(failure.ErrTooLarge, "output of activity %s has %d bytes, the limit is %d",
		a.call.Name, len(output), d.cfg.Settings.MaxPayload))
}

// settle ends an attempt whose code has ended or was abandoned. It returns the result if the execution is to have it; the caller delivers it.
func (d *Dispatcher) settle(working context.Context, a *attempt, cause error, output []byte, err error) *result {
	d.attemptEnded(a)
	left := d.conclusion(working, a, cause, output, err)
	if left == nil {
		d.attemptOver(a)
	}
	return left
}

// attemptOver ends an attempt whose end is reported or delivered.
func (d *Dispatcher) attemptOver(a *attempt) {
	if a.suspect {
		d.suspects.Done()
	}
	d.work.Done()
}

// conclusion reports how an attempt ended, or returns its result.
func (d *Dispatcher) conclusion(working context.Context, a *attempt, cause error, output []byte, err error) *result {
	report := provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Details: a.Unsaved()}
	if inside := a.completion.Close(); err == nil && inside != nil {
		return d.completeIn(working, a, inside, output, report)
	}
	return d.endAttempt(working, a, cause, output, err, report)
}

// endAttempt reports that an attempt ended by itself, or because it was cancelled. The result is as of settle.
func (d *Dispatcher) endAttempt(
	working context.Context, a *attempt, cause error, output []byte, err error, report provider.TaskReport,
) *result {
	gone := errors.Is(cause, errOrchestrationEnded) || errors.Is(cause, errOrchestrationMissing)
	switch {
	case err != nil && a.call.AtMostOnce && (gone || errors.Is(cause, errShutdown)):
		// It has begun. Should the node have been told wrong, a released task would run again.
		d.count.attemptsFailed.Add(1)
		failTask(&report, d.workerLost(a.call.Name, cause.Error()))
	case gone:
		d.count.attemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
		if err == nil { // kept, should the node have been told wrong
			report.Outcome = provider.TaskComplete
			report.Message = message(d.completed(a, output), a.Ref.Execution, a.Ref.EventID)
		}
	case err == nil:
		d.count.attemptsCompleted.Add(1)
		return &result{attempt: a, details: report.Details, body: d.completed(a, output)}
	case errors.Is(cause, errShutdown):
		d.count.attemptsReleased.Add(1)
		report.Outcome, report.Begun = provider.TaskRelease, true
	case errors.Is(cause, errLeaseLost):
		d.store.LeasesLost.Add(1)
		d.manage.Remove(&a.Attempt)
		return nil
	case errors.Is(cause, errAlreadyCompleted):
		d.manage.Remove(&a.Attempt)
		return nil
	default:
		return d.failed(working, a, cause, err, report)
	}
	d.store.Report(working, report)
	d.manage.Remove(&a.Attempt)
	return nil
}

// failureOf says how the attempt failed. The engine's own reasons go before the error
// with which the code obeyed them.
func (d *Dispatcher) failureOf(a *attempt, cause, err error) history.Failure {
	switch {
	case errors.Is(cause, errCancelled):
		err = failure.NonRetryable(failure.New(failure.ErrCancelled, "activity %s was cancelled: %v", a.call.Name, err))
	case errors.Is(cause, activity.ErrTimeout):
		err = timeoutFailure(a.call, timeoutKind(cause), err)
	}
	return d.cfg.Env.Errors.Encode(err)
}

// failed puts the task back into the queue for another attempt, or returns the failure as the result.
func (d *Dispatcher) failed(working context.Context, a *attempt, cause, err error, report provider.TaskReport) *result {
	f := d.failureOf(a, cause, err)
	delay, again := d.again(a, &f, err)
	if again && a.Unwanted() { // who waits for its end does not wait for another attempt
		f, again = d.failureOf(a, errCancelled, err), false
	}
	if !again {
		d.countFailed(a, cause)
		return &result{attempt: a, details: report.Details, body: d.gaveUp(a, f)}
	}
	d.count.attemptsRetried.Add(1)
	report.Outcome, report.Delay, report.Failure = provider.TaskRetry, delay, d.triedAgain(a, f)
	d.store.Report(working, report)
	d.manage.Remove(&a.Attempt)
	return nil
}
