package dispatcher

import (
	"context"
	"sync/atomic"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/platform/timelimit"
	"github.com/perdure/perdure/provider"
)

// attempts is what turns need of those that run attempts.
type attempts interface {
	// mayHandOff reports whether a turn's own commit may lease the task of a call to this node.
	mayHandOff(call *history.ActivityScheduled) bool
	// start runs an attempt on a goroutine of its own.
	start(ctx context.Context, a *attempt)
	// begin returns the context for run. It is nil if the attempt is not to be run.
	begin(ctx context.Context, a *attempt) context.Context
	// run runs an attempt on this goroutine. It returns the result that is left for the caller to deliver; nil: none.
	run(working, ctx context.Context, a *attempt) *result
	// over ends an attempt whose result is delivered.
	over(a *attempt)
	// toInbox sends a result to the inbox of its execution.
	toInbox(ctx context.Context, r *result)
	// releaseUnstarted releases the task of an attempt that was not started, as its turn is rolled back.
	releaseUnstarted(ctx context.Context, a *attempt)
}

// turns makes the turns of a node.
type turns struct {
	*node

	slots    *flow.Slots
	queued   atomic.Bool // the turn loop waits for a slot
	actors   *actors
	claims   *claims
	watch    *watch
	attempts attempts
	locals   *localWorker

	translator *translator
	committer  *committer
	courier    *courier
	evictor    *evictor
	unpinner   *unpinner
	starter    *starter
}

func newTurns(n *node, all attempts, locals *localWorker) *turns {
	ts := &turns{
		node: n, slots: flow.NewSlots(n.cfg.MaxTurns), actors: newActors(n), attempts: all, locals: locals,
	}
	ts.starter = &starter{node: n, turns: ts}
	ts.claims = newClaims(n, ts.beginClaimed)
	ts.watch = newWatch(n.cfg.DeadlockLimit, ts.abandonStuck)
	ts.unpinner = &unpinner{node: n}
	ts.evictor = &evictor{node: n, actors: ts.actors, unpinner: ts.unpinner}
	ts.courier = &courier{node: n, actors: ts.actors, attempts: all}
	ts.translator = &translator{node: n, actors: ts.actors, turnSlots: ts.slots, attempts: all, locals: locals}
	ts.committer = &committer{
		node: n, actors: ts.actors, attempts: all, locals: locals, evictor: ts.evictor, unpinner: ts.unpinner,
		courier: ts.courier, claims: ts.claims, calling: timelimit.NewShared(n.working, storage.CallTimeout),
	}
	return ts
}

// loop fetches turns and gives them to their actors.
func (ts *turns) loop(fetching, working context.Context) {
	f := &turnFetcher{node: ts.node, turns: ts}
	f.loop(fetching, working)
}

// watchStuck ends turns whose code does not return.
func (ts *turns) watchStuck(working context.Context) { ts.watch.run(working) }

// evictIdle evicts executions that have been idle for CacheIdle.
func (ts *turns) evictIdle(working context.Context) { ts.evictor.evictIdle(working) }

// startEagerly stores an instance together with its first turn; see Dispatcher.StartEagerly.
func (ts *turns) startEagerly(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	return ts.starter.start(ctx, req)
}

// cached returns the number and the estimated memory of the cached executions.
func (ts *turns) cached() (count, bytes int) { return ts.actors.size() }

// releaseClaims releases the turns that were claimed ahead, for good.
func (ts *turns) releaseClaims(ctx context.Context) { ts.claims.releaseAll(ctx) }

// unpinAll lets other nodes fetch the instances that this one has pinned.
func (ts *turns) unpinAll(ctx context.Context) {
	ts.unpinner.unpin(ctx, ts.actors.unstickAll()...)
}

// closeCache evicts all executions. From now on nothing is cached.
func (ts *turns) closeCache() {
	for _, x := range ts.actors.clear() {
		ts.evictor.close(x)
	}
}

// handBack releases the leases of turns whose code does not return.
func (ts *turns) handBack(ctx context.Context) {
	for _, r := range ts.watch.all() {
		if r.x.Load().InCode() {
			ts.abandon(ctx, r, func() { ts.release(ctx, r, provider.TurnRelease{}) })
		}
	}
}
