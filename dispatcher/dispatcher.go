package dispatcher

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/sealing"

	"github.com/perdure/perdure/dispatcher/internal/core"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/local"
	"github.com/perdure/perdure/dispatcher/internal/query"
	"github.com/perdure/perdure/dispatcher/internal/task"
	"github.com/perdure/perdure/dispatcher/internal/turn"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Dispatcher runs the loops of a node until Shutdown. It is safe for concurrent use.
type Dispatcher struct {
	node *core.Node

	turns   *turn.Turns
	worker  *task.Worker
	locals  *local.Worker
	queries *query.Queries

	fetching     fetching // what Drain and Shutdown end
	stopWorking  context.CancelFunc
	loops        sync.WaitGroup // manager, watch and what waits for the end of a drain
	fatal        atomic.Pointer[error]
	stopped      chan struct{} // closed when Shutdown is done and shutdownErr is set
	shutdownErr  error
	waitsSkipped chan struct{} // closed when the context of any caller of Shutdown has finished
	skipWaits    func()
	leakLimit    chan struct{} // closed when the node must end itself
}

// Start starts the loops. They run until Shutdown.
func Start(cfg core.Config) *Dispatcher {
	// The loops outlive the caller of Start by design: only Shutdown ends them.
	working, stopWorking := context.WithCancel(context.Background()) //nolint:forbidigo // root of the node's life
	working = bubble.With(working, cfg.Bubble)
	features := provider.FeaturesOf(cfg.Provider)
	cfg.Off, cfg.Faces = cfg.Off|undeclared(features), features.FailureGroups
	cfg.Env.MayNote = func() bool { return cfg.Level.Allowed() >= replay.LevelOfHandlers }
	n := core.New(working, cfg)
	d := &Dispatcher{
		node: n, stopWorking: stopWorking,
		stopped: make(chan struct{}), waitsSkipped: make(chan struct{}), leakLimit: make(chan struct{}),
	}
	d.skipWaits = sync.OnceFunc(func() { close(d.waitsSkipped) })
	n.Watchdog = leak.New(leak.Options{
		GracePeriod: cfg.GracePeriod, InterruptInterval: cfg.InterruptInterval, MaxInterruptInterval: cfg.MaxInterruptInterval,
		GiveUpAfter: cfg.GiveUpAfter, MaxLeaked: cfg.MaxLeaked, TooMany: d.tooManyLeaks, Logger: cfg.Logger,
	})
	d.worker = task.New(n)
	d.locals = local.New(d.worker)
	d.turns = turn.New(n, d.worker, d.locals)
	d.worker.Connect(d.turns)
	d.queries = query.New(n, d.turns)
	d.worker.PauseQueues(cfg.Paused)
	go d.shutDownOnLeaks(working)
	d.run()
	if cfg.Background != nil {
		d.loops.Go(func() { cfg.Background(working, d) })
	}
	return d
}

// undeclared returns the fast paths that stand on features which the provider does not declare.
func undeclared(f provider.Features) (off fastpath.Set) {
	if !f.FirstTurns {
		off |= fastpath.Eager
	}
	if !f.Ahead {
		off |= fastpath.Ahead
	}
	if !f.Sticky {
		off |= fastpath.Sticky
	}
	return off
}

// run starts the loops.
func (d *Dispatcher) run() {
	d.fetch()
	if len(d.node.Config.Orchestrations) > 0 {
		if d.node.Config.DeadlockLimit > 0 {
			d.loops.Go(func() { d.turns.WatchStuck(d.node.Working) })
		}
		if d.node.Config.CacheIdle > 0 {
			d.loops.Go(func() { d.turns.EvictIdle(d.node.Working) })
		}
	}
	if len(d.node.Config.Activities) > 0 {
		stop := d.node.Manage.Listen()
		d.loops.Go(func() {
			defer stop()
			d.node.Manage.Run(d.node.Working)
		})
	}
}

// StartWithFirstTurn makes the first turn of an instance and stores the instance with it, in one commit. If ok is false, nothing was stored: the
// node is busy, the turn needs a stored instance, or its code failed or is stuck. The caller then creates the instance the ordinary way.
func (d *Dispatcher) StartWithFirstTurn(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	return d.turns.StartWithFirstTurn(ctx, req)
}

// Level returns the level that the node's store allows.
func (d *Dispatcher) Level() *upgrade.Level { return d.node.Config.Level }

// StorageTime returns the storage's time, as far as the node can tell; zero before the first call of the store.
func (d *Dispatcher) StorageTime() provider.Time { return d.node.Clock.Now() }

// Watch returns what reports to the node's Observer; nil: nobody observes.
func (d *Dispatcher) Watch() *observing.Hub { return d.node.Config.Watch }

// Codec returns the codec of the node's provider; nil: it has none.
func (d *Dispatcher) Codec() codec.Codec { return sealing.Of(d.node.Config.Provider).Codec() }

// Sealing returns why the node cannot seal or open payloads; nil: it can.
func (d *Dispatcher) Sealing() error { return d.node.Config.Faults.Err() }

// AskCached answers a question from the execution that this node has in memory, with one read of the store and no write. If ok is false, it
// has none, or an outdated one. The caller then asks through the store.
func (d *Dispatcher) AskCached(ctx context.Context, key provider.UUID, q *history.Question) (answer history.Answer, ok bool) {
	return d.queries.AnswerCached(ctx, key, q)
}

// LeakedQuery is a query whose handler should have returned and has not.
type LeakedQuery = query.Leaked

// LeakedQueries returns the queries that were given up and still run, the oldest first.
func (d *Dispatcher) LeakedQueries() []LeakedQuery { return d.queries.Leaked() }

// NewKey returns a unique key for an instance with the given ID. Keys sort by age.
func NewKey(id string) [16]byte { return provider.NewKey(id) }
