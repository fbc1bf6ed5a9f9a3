package turn

import (
	"context"
	"sync/atomic"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/fast"
	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/timelimit"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// attempts runs the attempts that turns hand off.
type attempts interface {
	// MayHandOff reports whether a turn's own commit may lease the task of a call to this node.
	MayHandOff(call *history.ActivityScheduled) bool
	// Room returns how many tasks the commits of turns may lease to this node.
	Room() int
	// Queues counts a task that a commit of this node adds to the queue, if it does so for lack of room.
	Queues(call *history.ActivityScheduled)
	// Queued returns how many it has counted.
	Queued() int64
	// Start runs an attempt on a goroutine of its own.
	Start(ctx context.Context, a *task.Attempt)
	// Begin returns the context for Run. It is nil if the attempt must not run.
	Begin(ctx context.Context, a *task.Attempt) context.Context
	// Run runs an attempt on this goroutine. It returns the result for the caller to deliver; nil: none.
	Run(working, ctx context.Context, a *task.Attempt) *task.Result
	// Over ends an attempt whose result is delivered.
	Over(a *task.Attempt)
	// ToInbox sends a result to the inbox of its execution.
	ToInbox(ctx context.Context, r *task.Result)
	// ReleaseUnstarted releases the task of an attempt that was not started because its turn is rolled back.
	ReleaseUnstarted(ctx context.Context, a *task.Attempt)
}

// Turns makes the turns of a node.
type Turns struct {
	*core.Node

	slots    *flow.Slots
	queued   atomic.Bool // the turn loop waits for a slot
	actors   *actors
	claims   *fast.Claims
	watch    *watch
	attempts attempts
	locals   *local.Worker

	preparer  *preparer
	committer *committer
	router    *resultRouter
	evictor   *evictor
	unpinner  *fast.Unpinner
	starter   *starter
	reporter  reporter
	anchorer  anchorer
	histories historyReader
}

// New makes the turns of a node.
func New(n *core.Node, all attempts, locals *local.Worker) *Turns {
	ts := &Turns{
		Node: n, slots: flow.NewSlots(n.Config.MaxTurns), actors: newActors(n), attempts: all, locals: locals,
	}
	ts.starter = &starter{Node: n, turns: ts}
	ts.reporter, ts.anchorer = reporter{n}, anchorer{n}
	ts.histories = historyReader{n}
	ts.claims = fast.NewClaims(n, ts.beginClaimed)
	ts.watch = newWatch(n.Config.DeadlockLimit, ts.abandonStuck)
	ts.unpinner = &fast.Unpinner{Node: n}
	ts.evictor = &evictor{Node: n, actors: ts.actors, unpinner: ts.unpinner}
	ts.router = &resultRouter{Node: n, actors: ts.actors, attempts: all}
	ts.preparer = &preparer{Node: n, actors: ts.actors, turnSlots: ts.slots, attempts: all, locals: locals, anchorer: ts.anchorer}
	ts.committer = &committer{
		Node: n, actors: ts.actors, attempts: all, locals: locals, evictor: ts.evictor, unpinner: ts.unpinner,
		router: ts.router, claims: ts.claims, reporter: ts.reporter, calling: timelimit.NewShared(n.Working, storage.CallTimeout),
	}
	return ts
}

// Loop fetches turns and gives them to their actors.
func (ts *Turns) Loop(fetching, working context.Context) {
	f := &turnFetcher{Node: ts.Node, turns: ts}
	f.loop(fetching, working)
}

// WatchStuck ends turns whose code does not return.
func (ts *Turns) WatchStuck(working context.Context) { ts.watch.run(working) }

// EvictIdle evicts executions that have been idle for CacheIdle.
func (ts *Turns) EvictIdle(working context.Context) { ts.evictor.evictIdle(working) }

// StartWithFirstTurn stores an instance together with its first turn; see Dispatcher.StartWithFirstTurn.
func (ts *Turns) StartWithFirstTurn(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	return ts.starter.start(ctx, req)
}

// Cached returns the number and the estimated memory of the cached executions.
func (ts *Turns) Cached() (count, bytes int) { return ts.actors.size() }

// Slots returns how many turns run, and how many may.
func (ts *Turns) Slots() observe.Slots {
	limit := int64(ts.Config.MaxTurns)
	return observe.Slots{Used: limit - int64(ts.slots.Free()), Limit: limit}
}

// ReleaseClaims releases the turns that were claimed ahead. From now on none is, until HoldClaims.
func (ts *Turns) ReleaseClaims(ctx context.Context) { ts.claims.ReleaseAll(ctx) }

// HoldClaims lets turns be claimed ahead again after ReleaseClaims.
func (ts *Turns) HoldClaims() { ts.claims.Reopen() }

// UnpinAll lets other nodes fetch the instances that this one has pinned.
func (ts *Turns) UnpinAll(ctx context.Context) {
	ts.unpinner.Unpin(ctx, ts.actors.forgetPins()...)
}

// CloseCache evicts all executions. From now on nothing is cached.
func (ts *Turns) CloseCache() {
	for _, x := range ts.actors.clear() {
		ts.evictor.close(x)
	}
}

// HandBack releases the leases of turns whose code does not return.
func (ts *Turns) HandBack(ctx context.Context) {
	for _, r := range ts.watch.all() {
		if r.x.Load().Probe().InCode() {
			ts.abandon(ctx, r, nil, func() {})
		}
	}
}
