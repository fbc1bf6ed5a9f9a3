package task

import (
	"context"
	"sync/atomic"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
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

	// queueEmpty is set while the task loop is parked in a fetch that found nothing. Only then may commits hand tasks to this node, past
	// the queue.
	queueEmpty atomic.Bool
}

// New makes a worker. Connect must follow.
func New(n *core.Node) *Worker {
	return &Worker{
		Node: n, judge: &judge{n}, pools: flow.NewPools(n.Config.Limits, n.Config.QueueLimits, n.Config.Queues()),
		rate: flow.NewNodeRate(n.Config.ActivitiesPerSecond),
	}
}

// Connect sets the receiver of results. It must be called before any other method.
func (w *Worker) Connect(to Executions) { w.executions = to }

// Loop fetches activity tasks and runs them as long as there are free slots.
func (w *Worker) Loop(fetching, working context.Context) {
	f := &taskFetcher{Node: w.Node, worker: w, judge: w.judge}
	f.loop(fetching, working)
}

// EndLate ends calls that are past their time while no attempt of them runs.
func (w *Worker) EndLate(fetching, working context.Context) {
	d := &deadlines{Node: w.Node, judge: w.judge, executions: w.executions}
	d.loop(fetching, working)
}

// MayHandOff reports whether a turn's own commit may lease the task of a call to this node. It may not while tasks wait in the queue, nor
// for activities that must queue.
func (w *Worker) MayHandOff(call *history.ActivityScheduled) bool {
	return !w.Stopping.Load() && w.queueEmpty.Load() && w.Config.Activities[call.Queue][call.Name] != nil && !w.MustQueue(call) &&
		!w.Config.Off.Has(fastpath.HandOff)
}

// MustQueue reports whether the activity must go through the queue. Only the queue enforces limits, sessions, priorities and fairness keys
// (hazard 22).
func (w *Worker) MustQueue(call *history.ActivityScheduled) bool {
	return w.rate != nil || call.Session != "" || call.FairnessKey != "" || call.Priority != 0 && call.Priority != provider.PriorityDefault ||
		w.pools.Bounds(call.Queue, call.Name)
}

// Start runs an attempt, whose slot is taken, on its own goroutine.
func (w *Worker) Start(working context.Context, a *Attempt) {
	if ctx := w.Begin(working, a); ctx != nil {
		go func() { w.executions.Follow(working, w.Run(working, ctx, a)) }()
	}
}
