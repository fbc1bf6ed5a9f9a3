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
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/provider"
)

// attempt is one run of an activity on this node.
type attempt struct {
	manage.Attempt

	call       *history.ActivityScheduled
	instanceID string
	number     int64 // the attempt, from 1
	before     int64 // of these: inside a turn, which its task does not count
	deliveries int64
	suspect    bool // it runs alone
	scheduled  provider.Time
	deadline   provider.Time // of the call; 0: none
	expires    time.Time     // when its own start-to-close timeout passes; zero: none
	details    []byte        // heartbeat details of an earlier attempt
	completion provider.Completion

	cause   func() error  // why the context of the user's function has ended, if it has
	life    life          // what ends it
	done    chan struct{} // closed when the attempt has ended, by its code or its completer
	places  flow.Places   // in pools
	watched leak.Code
	later   later
	user    *bind.Attempt // what package activity reads

	began provider.Time     // by the storage's clock
	past  []history.Attempt // the attempts before this one
	last  history.Failure   // of the attempt before this one
}

// result is the outcome of an attempt on its way to the execution that waits for it.
type result struct {
	attempt *attempt
	body    history.Body
	details []byte

	came     time.Time                  // when the execution got it
	patience atomic.Pointer[time.Timer] // rings when it has waited long enough
}

// handedOff makes the attempt of a task that the commit of a turn leases to its own node.
func handedOff(ref provider.TaskRef, instanceID string, call *history.ActivityScheduled, scheduled provider.Time, lease time.Duration) *attempt {
	return &attempt{
		Attempt: manage.Attempt{Ref: ref, Token: storage.NewToken(), Lease: manage.NewLease(lease)},
		call:    call, instanceID: instanceID, number: 1 + call.Attempts, before: call.Attempts, deliveries: 1,
		scheduled: scheduled, deadline: deadline(scheduled, span(call.ScheduleToClose)),
	}
}

// executions are where the results of attempts go.
type executions interface {
	// deliver takes a result, unless it is nil, and goes on with its execution on another goroutine.
	deliver(ctx context.Context, r *result)
	// follow does the same on this goroutine.
	follow(ctx context.Context, r *result)
	// sentTo says that this node has put a message into the inbox of an instance.
	sentTo(key provider.UUID)
}

// worker runs the attempts of a node, whose slots are taken.
type worker struct {
	*node

	judge      *judge
	pools      *flow.Pools
	rate       *flow.NodeRate
	executions executions

	// queueEmpty says that the task loop is parked in a fetch that found nothing: only
	// then may commits hand tasks to this node, past the queue.
	queueEmpty atomic.Bool
}

func newWorker(n *node) *worker {
	return &worker{
		node: n, judge: &judge{n}, pools: flow.NewPools(n.cfg.Limits, n.cfg.QueueLimits, n.cfg.queues()),
		rate: flow.NewNodeRate(n.cfg.ActivitiesPerSecond),
	}
}

// connect sets where results go. It is called once, before the worker runs anything.
func (w *worker) connect(to executions) { w.executions = to }

// loop fetches activity tasks and runs them as long as there are free slots.
func (w *worker) loop(fetching, working context.Context) {
	f := &taskFetcher{node: w.node, worker: w, judge: w.judge}
	f.loop(fetching, working)
}

// endLate ends calls that are past their time while no attempt of them runs.
func (w *worker) endLate(fetching, working context.Context) {
	d := &deadlines{node: w.node, judge: w.judge, executions: w.executions}
	d.loop(fetching, working)
}

// mayHandOff reports whether a turn's own commit may lease the task of a call to this node. It must not jump the queue: it may not while
// tasks wait there, and not for activities that must queue.
func (w *worker) mayHandOff(call *history.ActivityScheduled) bool {
	return !w.stopping.Load() && w.queueEmpty.Load() && w.cfg.Activities[call.Queue][call.Name] != nil && !w.mustQueue(call) &&
		!w.cfg.Off.Has(fastpath.HandOff)
}

// mustQueue reports whether the activity must go through the queue, which alone keeps to limits, sessions and the
// order of priorities and fairness keys (hazard 22).
func (w *worker) mustQueue(call *history.ActivityScheduled) bool {
	return w.rate != nil || call.Session != "" || call.FairnessKey != "" || call.Priority != 0 && call.Priority != provider.PriorityDefault ||
		w.pools.Bounds(call.Queue, call.Name)
}

// stored is the attempt's number as its task counts.
func (a *attempt) stored() int64 { return a.number - a.before }

func taskRef(key provider.UUID, execution, event int64) provider.TaskRef {
	return provider.TaskRef{Key: key, Execution: execution, EventID: event}
}

// start runs an attempt, whose slot is taken, on a goroutine of its own.
func (w *worker) start(working context.Context, a *attempt) {
	if ctx := w.begin(working, a); ctx != nil {
		go func() { w.executions.follow(working, w.run(working, ctx, a)) }()
	}
}

// begin returns the context of an attempt that is to be run. It is nil if the lease has become too short, and if the attempt already runs.
func (w *worker) begin(working context.Context, a *attempt) context.Context {
	if !a.Lease.Startable() {
		w.releaseUnbegun(working, a)
		return nil
	}
	w.work.Add()
	w.count.attemptsRunning.Add(1)
	a.places = w.pools.Take(a.call.Queue, a.call.Name)
	ctx, cancel := context.WithCancelCause(working)
	a.Cancel = cancel
	a.done = make(chan struct{})
	a.user = &bind.Attempt{}
	a.began = w.clock.Now()
	a.later = later{w, a}
	a.Owner = &a.later
	w.manage.StartBeating(&a.Attempt, w.cfg.pace(a.call))
	w.manage.Add(&a.Attempt)
	return ctx
}

// run runs the user's function and reports how it ended, also when the function
// ends the goroutine by Goexit. It returns the result that is left for the caller to deliver; nil: none.
func (w *worker) run(working, ctx context.Context, a *attempt) (left *result) {
	a.watched.RunsOn(goroutine.ID())
	ctx, stop := w.contextOf(ctx, a)
	a.cause = func() error { return context.Cause(ctx) }
	// When the context ends, the code has the grace period to return.
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
		w.watchdog.Returned(&a.watched)
		if !returned {
			err = w.panicked(a, "called runtime.Goexit")
		}
		if w.keepPending(working, ctx, a, err, free) {
			if ctx.Err() != nil { // it ended on the way, when the watchdog still waited for the code
				go w.gracePending(working, a, context.Cause(ctx))
			}
			return
		}
		defer free()
		stopGrace()
		left = w.codeEnded(working, a, a.cause(), output, err)
		if !returned || goroutine.Bound() { // nothing else may run on this goroutine
			w.executions.deliver(working, left)
			left = nil
		}
	}()
	output, err = w.runUser(ctx, a)
	returned = true
	return left
}

// discardLate discards the result of an attempt that was abandoned: its task was dealt with when the grace period was over.
func (w *worker) discardLate(a *attempt, err error) {
	w.count.resultsLate.Add(1)
	w.cfg.Logger.Warn("result of a leaked activity discarded", "activity", a.call.Name, "instance", a.instanceID,
		"attempt", a.number, "err", err)
}

// codeEnded ends an attempt whose code has ended for good. The outcome of a completer goes before that of the code. The result is as of settle.
func (w *worker) codeEnded(working context.Context, a *attempt, cause error, output []byte, err error) *result {
	parked := cause == nil && failure.Wraps(err, activity.ErrParked)
	given, _, ok := a.life.end(whyOver(cause, parked))
	if !ok {
		w.discardLate(a, err)
		return nil
	}
	close(a.done)
	switch {
	case given != nil:
		if !failure.Wraps(err, activity.ErrPending) {
			w.cfg.Logger.Warn("activity returned although its completer had ended it: what it returned is dropped",
				"activity", a.call.Name, "instance", a.instanceID, "err", err)
		}
		return w.settle(working, a, cause, given.output, given.err)
	case parked:
		return w.park(working, a)
	default:
		return w.settle(working, a, cause, output, err)
	}
}

// contextOf is what the user's function gets: deadline, identity and heartbeat.
func (w *worker) contextOf(ctx context.Context, a *attempt) (context.Context, context.CancelFunc) {
	info := bind.Info{
		Activity: a.call.Name, Queue: a.call.Queue, InstanceID: a.instanceID, Execution: a.Ref.Execution, EventID: a.Ref.EventID,
		Attempt: int(a.number), Deliveries: int(a.deliveries), Scheduled: a.scheduled.Std(), HeartbeatTimeout: a.HeartbeatTimeout(), Session: a.call.Session,
	}
	ctx, stop, deadline := w.limited(ctx, a)
	info.Deadline = deadline
	ctx = provider.WithCompletion(ctx, &a.completion)
	u := a.user
	u.Info, u.Key, u.Details, u.Beat, u.Later = info, idempotencyKey(a), a.details, func(details []byte) { w.manage.Heartbeat(&a.Attempt, details) }, &a.later
	u.Logger = w.cfg.Logger
	return bind.WithAttempt(ctx, u), stop
}

func idempotencyKey(a *attempt) string {
	id := strconv.FormatInt(a.Ref.EventID, 10)
	if a.call.Local != 0 {
		id = localIdentity(a.call)
	}
	return a.Ref.Key.String() + "/" + strconv.FormatInt(a.Ref.Execution, 10) + "/" + id
}

// freeSlot frees the slot.
func (w *worker) freeSlot(a *attempt) {
	a.StopBeating()
	w.count.attemptsRunning.Add(-1)
	w.pools.Release(a.places)
	w.tasks.Release(1)
}

// runUser runs the user's function. A panic is a failure of the attempt.
func (w *worker) runUser(ctx context.Context, a *attempt) (output []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.panicked(a, fmt.Sprintf("panicked: %v", p))
		}
	}()
	output, err = w.cfg.Activities[a.call.Queue][a.call.Name](ctx, a.call.Input)
	if err == nil {
		err = w.judge.fits(a, output)
	}
	return output, err
}

// panicked returns the failure of an attempt whose code did not return, and logs it: a retry may hide it from all others. It is called
// while the code's stack is still there.
func (w *worker) panicked(a *attempt, how string) error {
	stack := string(debug.Stack())
	w.cfg.Logger.Error("activity panicked", "activity", a.call.Name, "instance", a.instanceID, "attempt", a.number, "err", how, "stack", stack)
	return failure.New(failure.ErrPanic, "activity %s %s\n%s", a.call.Name, how, stack)
}

// countFailed counts an attempt that ended its call with an error. One that was cancelled and stopped has not failed.
func (j *judge) countFailed(a *attempt, cause error) {
	if errors.Is(cause, activity.ErrCancelled) || a.Unwanted() {
		j.count.attemptsCancelled.Add(1)
		return
	}
	j.count.attemptsFailed.Add(1)
}

// fits refuses an output that no history takes.
func (j *judge) fits(a *attempt, output []byte) error {
	if int64(len(output)) <= j.cfg.Settings.MaxPayload {
		return nil
	}
	return failure.NonRetryable(failure.New(failure.ErrTooLarge, "output of activity %s has %d bytes, the limit is %d",
		a.call.Name, len(output), j.cfg.Settings.MaxPayload))
}

// settle ends an attempt whose code has ended or was abandoned. It returns the result if the execution is to have it; the caller delivers it.
func (w *worker) settle(working context.Context, a *attempt, cause error, output []byte, err error) *result {
	w.freeSlot(a)
	left := w.conclude(working, a, cause, output, err)
	if left == nil {
		w.over(a)
	}
	return left
}

// toInbox sends a result to the inbox of its execution.
func (w *worker) toInbox(working context.Context, r *result) {
	a := r.attempt
	w.store.Report(working, provider.TaskReport{
		TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskComplete, Details: r.details,
		Message: message(r.body, a.Ref.Execution, a.Ref.EventID),
	})
	w.executions.sentTo(a.Ref.Key)
	w.manage.Remove(&a.Attempt)
}

// releaseUnstarted releases the task of an attempt that was not started, as its turn is rolled back.
func (w *worker) releaseUnstarted(working context.Context, a *attempt) {
	w.work.Add()
	go func() {
		defer w.work.Done()
		w.store.Report(working, provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Outcome: provider.TaskRelease})
	}()
}

// over ends an attempt whose end is reported or delivered.
func (w *worker) over(a *attempt) {
	if a.suspect {
		w.suspects.Done()
	}
	w.work.Done()
}

// conclude reports how an attempt ended, or returns its result.
func (w *worker) conclude(working context.Context, a *attempt, cause error, output []byte, err error) *result {
	report := provider.TaskReport{TaskRef: a.Ref, Token: a.Token, Attempt: a.stored(), Details: a.Unsaved()}
	if inside := a.completion.Close(); err == nil && inside != nil {
		return w.completeIn(working, a, inside, output, report)
	}
	return w.end(working, a, cause, output, err, report)
}

// end reports that an attempt ended by itself, or because it was cancelled. The result is as of settle.
func (w *worker) end(
	working context.Context, a *attempt, cause error, output []byte, err error, report provider.TaskReport,
) *result {
	gone := errors.Is(cause, activity.ErrOrchestrationEnded) || errors.Is(cause, activity.ErrOrchestrationMissing)
	switch {
	case err != nil && a.call.AtMostOnce && (gone || errors.Is(cause, activity.ErrShutdown)):
		// It has begun. If the node was told wrong, a released task would run again.
		w.count.attemptsFailed.Add(1)
		failTask(&report, w.judge.workerLost(a.call.Name, cause.Error()))
	case gone:
		w.count.attemptsDiscarded.Add(1)
		report.Outcome = provider.TaskDiscard
		if err == nil { // kept, in case the node was told wrong
			report.Outcome = provider.TaskComplete
			report.Message = message(w.judge.completed(a, output), a.Ref.Execution, a.Ref.EventID)
		}
	case err == nil:
		w.count.attemptsCompleted.Add(1)
		return &result{attempt: a, details: report.Details, body: w.judge.completed(a, output)}
	case errors.Is(cause, activity.ErrShutdown):
		w.count.attemptsReleased.Add(1)
		report.Outcome, report.Begun = provider.TaskRelease, true
	case errors.Is(cause, activity.ErrLeaseLost):
		w.store.LeasesLost.Add(1)
		w.manage.Remove(&a.Attempt)
		return nil
	case errors.Is(cause, activity.ErrAlreadyCompleted):
		w.manage.Remove(&a.Attempt)
		return nil
	default:
		return w.failed(working, a, cause, err, report)
	}
	w.store.Report(working, report)
	w.manage.Remove(&a.Attempt)
	return nil
}

// failureOf says how the attempt failed. The engine's own reasons go before the error
// with which the code obeyed them.
func (j *judge) failureOf(a *attempt, cause, err error) history.Failure {
	switch {
	case errors.Is(cause, activity.ErrCancelled):
		err = failure.NonRetryable(failure.New(failure.ErrCancelled, "activity %s was cancelled: %v", a.call.Name, err))
	case errors.Is(cause, activity.ErrTimeout):
		err = timeoutFailure(a.call, timeoutKind(cause), err)
	}
	return j.cfg.Env.Errors.Encode(err)
}

// failed puts the task back into the queue for another attempt, or returns the failure as the result.
func (w *worker) failed(working context.Context, a *attempt, cause, err error, report provider.TaskReport) *result {
	f := w.judge.failureOf(a, cause, err)
	delay, again := w.judge.again(a, &f, err)
	if again && a.Unwanted() { // a caller that waits for its end does not wait for another attempt
		f, again = w.judge.failureOf(a, activity.ErrCancelled, err), false
	}
	if !again {
		w.judge.countFailed(a, cause)
		return &result{attempt: a, details: report.Details, body: w.judge.gaveUp(a, f)}
	}
	w.count.attemptsRetried.Add(1)
	report.Outcome, report.Delay, report.Failure = provider.TaskRetry, delay, w.judge.triedAgain(a, f)
	w.store.Report(working, report)
	w.manage.Remove(&a.Attempt)
	return nil
}
