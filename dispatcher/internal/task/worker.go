package task

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// Executions receives the results of attempts.
type Executions interface {
	// Deliver takes a result, unless it is nil, and continues its execution on another goroutine.
	Deliver(ctx context.Context, r *Result)
	// Follow does the same on this goroutine.
	Follow(ctx context.Context, r *Result)
	// SentTo notes that this node has sent a message to an instance.
	SentTo(key provider.UUID)
}

// Worker runs the attempts of a node.
type Worker struct {
	*core.Node

	judge      *judge
	pools      *flow.Pools
	rate       *flow.NodeRate
	executions Executions

	// queueEmpty is set while the last fetches found fewer tasks than they asked for, and so took all that waited. Only then may commits
	// hand tasks to this node, past the queue.
	queueEmpty atomic.Bool
	queued     atomic.Int64 // tasks that commits of this node did not hand off for lack of room
}

// New makes a worker. Connect must follow.
func New(n *core.Node) *Worker {
	return &Worker{
		Node: n, judge: &judge{n}, pools: flow.NewPools(n.Config.Limits, n.Config.QueueLimits, n.Config.Queues()),
		rate: flow.NewNodeRate(n.Config.ActivitiesPerSecond),
	}
}

// ServeAgain takes over which names the fallbacks of the node take.
func (w *Worker) ServeAgain() { w.pools.Serve(w.Config.FetchableQueues(w.Config.Fallbacks.Now())) }

// Connect sets the receiver of results. It must be called before any other method.
func (w *Worker) Connect(to Executions) { w.executions = to }

// Pools returns the places of the pools that have a name.
func (w *Worker) Pools() map[string]observe.Slots {
	all := make(map[string]observe.Slots)
	w.pools.Used(func(name string, used, size int) { all[name] = observe.Slots{Used: int64(used), Limit: int64(size)} })
	return all
}

// Full returns activities by queue, most at most, that a full pool keeps from beginning.
func (w *Worker) Full(most int) map[string][]string {
	var all map[string][]string
	n := 0
	w.pools.Full(func(of flow.ActivityName) bool {
		if all == nil {
			all = make(map[string][]string)
		}
		all[of.Queue] = append(all[of.Queue], of.Name)
		n++
		return n < most
	})
	for _, names := range all {
		slices.Sort(names)
	}
	return all
}

// EndLate ends calls that are past their time while no attempt of them runs.
func (w *Worker) EndLate(fetching, working context.Context) {
	d := &deadlines{Node: w.Node, judge: w.judge, executions: w.executions}
	d.loop(fetching, working)
}

// MayHandOff reports whether a turn's own commit may lease the task of a call to this node. It may not while tasks wait in the queue, nor
// for activities that must queue.
func (w *Worker) MayHandOff(call *history.ActivityScheduled) bool {
	return w.Accepting() && w.queueEmpty.Load() && w.Config.Serves(call.Queue, call.Name) && !w.MustQueue(call) &&
		!w.Config.Off.Has(fastpath.HandOff) && !w.pools.Paused(call.Queue)
}

// Queues counts a task that a commit of this node adds to the queue for lack of room.
func (w *Worker) Queues(call *history.ActivityScheduled) {
	if w.Config.Serves(call.Queue, call.Name) && !w.MustQueue(call) && !w.Config.Off.Has(fastpath.HandOff) && !w.pools.Paused(call.Queue) {
		w.queued.Add(1)
	}
}

// Queued returns how many tasks Queues has counted.
func (w *Worker) Queued() int64 { return w.queued.Load() }

// Room returns how many tasks the commits of turns may lease to this node now: none while tasks wait in the queue.
func (w *Worker) Room() int {
	switch {
	case w.Config.MaxActivities == 0 || w.Config.Off.Has(fastpath.HandOff):
		return math.MaxInt
	case !w.queueEmpty.Load():
		return 0
	default:
		return w.Tasks.Free()
	}
}

// MustQueue reports whether the activity must go through the queue. Only the queue enforces limits, sessions, priorities and fairness keys
// (hazard 22).
func (w *Worker) MustQueue(call *history.ActivityScheduled) bool {
	return w.rate != nil || call.Session != "" || call.FairnessKey != "" || call.Priority != 0 && call.Priority != provider.PriorityDefault ||
		w.pools.Bounds(call.Queue, call.Name)
}

// PauseQueues replaces the set of queues of which nothing begins. Running activities go on. A waiting fetch begins anew.
func (w *Worker) PauseQueues(paused map[string]bool) {
	w.pools.Pause(paused)
	w.queueEmpty.Store(false) // what waits in a queue that goes on comes before hand-offs
}

// Paused reports whether nothing of the queue begins.
func (w *Worker) Paused(queue string) bool { return w.pools.Paused(queue) }

// Start runs an attempt, whose slot is taken, on its own goroutine.
func (w *Worker) Start(working context.Context, a *Attempt) {
	if ctx := w.Begin(working, a); ctx != nil {
		go func() { w.executions.Follow(working, w.Run(working, ctx, a)) }()
	}
}

// Begin returns the context for Run. It is nil if the lease has become too short or the queue is paused; then the task is released.
func (w *Worker) Begin(working context.Context, a *Attempt) context.Context {
	if !a.Lease.Startable() || w.pools.Paused(a.Call.Queue) {
		w.releaseUnbegun(working, a)
		return nil
	}
	w.Work.Add()
	w.Count.AttemptsRunning.Add(1)
	a.Queue = a.Call.Queue
	w.starts(a)
	a.places = w.pools.Take(a.Call.Queue, a.Call.Name)
	ctx, cancel := context.WithCancelCause(working)
	a.Cancel = cancel
	a.Done = make(chan struct{})
	a.user = &bind.Attempt{}
	a.began = w.Clock.Now()
	a.later = later{w, a}
	a.Owner = &a.later
	w.Manage.StartHeartbeats(&a.Attempt, w.Config.Pace(a.Call))
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

// codeEnded ends an attempt whose code has returned. The outcome of a completer takes precedence over that of the code. It
// returns a result for the cached execution.
func (w *Worker) codeEnded(working context.Context, a *Attempt, cause error, output []byte, err error) *Result {
	parked := cause == nil && failure.Wraps(err, activity.ErrParked)
	given, _, ok := a.lifecycle.end(whyOver(cause, parked))
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
		Started: a.began, CallDeadline: a.deadline, Node: w.Config.Owner,
	}
	ctx, stop, deadline := w.limited(ctx, a)
	info.Deadline = deadline
	ctx = provider.WithCompletion(ctx, &a.completion)
	u := a.user
	u.Info, u.Key, u.Details, u.Heartbeat, u.Later = info, idempotencyKey(a), a.details, func(details []byte) { w.Manage.Heartbeat(&a.Attempt, details) }, &a.later
	u.Logger, u.Caller, u.Retry = w.Config.Env.Logger, a.Caller, a.Call.Retry
	return bind.WithAttempt(ctx, u), stop
}

// RunUser runs the user's function. A panic is a failure of the attempt.
func (w *Worker) RunUser(ctx context.Context, a *Attempt) (output []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.Panicked(a, fmt.Sprintf("panicked: %v", p))
		}
	}()
	if len(w.Config.Propagators) > 0 {
		ctx = w.extract(ctx, a)
	}
	if w.Watch.Traces() {
		ctx = w.trace(ctx, a)
	}
	output, err = w.Config.Activity(a.Call.Queue, a.Call.Name)(ctx, a.Call.Input)
	if err == nil {
		err = w.judge.fits(a, output)
	}
	return output, err
}
