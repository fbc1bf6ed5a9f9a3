package dispatcher

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/inflight"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/dispatcher/internal/storetime"
	"github.com/perdure/perdure/dispatcher/internal/suspect"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/provider"
)

// node is what the parts of a Dispatcher share. Each part embeds it.
type node struct {
	cfg      Config
	store    *storage.Store
	clock    *storetime.Clock // of store
	count    counters
	tasks    *flow.Slots // of attempts
	suspects *suspect.List
	manage   *manage.Manager
	watchdog *leak.Watchdog
	fetchers inflight.Count // fetch loops
	work     inflight.Count // turns, attempts and closing executions
	stopping atomic.Bool

	working context.Context //nolint:containedctx // of all work until the node has stopped
}

// Dispatcher runs the loops of a node until Shutdown. Its methods may be called from
// several goroutines at once.
type Dispatcher struct {
	*node

	turns   *turns
	starter *starter
	worker  *worker
	locals  *localWorker

	stopFetching context.CancelFunc
	stopWorking  context.CancelFunc
	loops        sync.WaitGroup // manager and watch
	fatal        atomic.Pointer[error]
	stopped      chan struct{} // closed when Shutdown is done; shutdownErr is set then
	shutdownErr  error
	hurried      chan struct{} // closed when the context of any caller of Shutdown has finished
	hurry        func()
	overrun      chan struct{} // closed when the node must end itself
}

// Start starts the loops. They run until Shutdown.
func Start(cfg Config) *Dispatcher {
	if cfg.Off.Has(fastpath.Cache) {
		cfg.CacheCount = 0
	}
	if cfg.Off.Has(fastpath.Local) {
		cfg.LocalTime = 0
	}
	// The loops outlive the caller of Start by design: only Shutdown ends them.
	fetching, stopFetching := context.WithCancel(context.Background()) //nolint:forbidigo // root of the node's life
	working, stopWorking := context.WithCancel(context.Background())   //nolint:forbidigo // root of the node's life
	store := storage.New(cfg.Provider, cfg.Lease, cfg.Logger)
	n := &node{
		cfg: cfg, store: store, clock: &store.Clock, tasks: flow.NewSlots(max(cfg.MaxActivities, 1)), suspects: suspect.NewList(),
		manage: manage.New(store, manage.Options{Owner: cfg.Owner, Lease: cfg.Lease, Sessions: cfg.Sessions}), working: working,
	}
	d := &Dispatcher{
		node: n, stopFetching: stopFetching, stopWorking: stopWorking,
		stopped: make(chan struct{}), hurried: make(chan struct{}), overrun: make(chan struct{}),
	}
	d.hurry = sync.OnceFunc(func() { close(d.hurried) })
	n.watchdog = leak.New(leak.Options{
		GracePeriod: cfg.GracePeriod, InterruptInterval: cfg.InterruptInterval, MaxInterruptInterval: cfg.MaxInterruptInterval,
		GiveUpAfter: cfg.GiveUpAfter, MaxLeaked: cfg.MaxLeaked, TooMany: d.tooManyLeaks, Logger: cfg.Logger,
	})
	d.worker = newWorker(n)
	d.locals = newLocalWorker(d.worker)
	d.turns = newTurns(n, d.worker, d.locals)
	d.worker.executions = d.turns
	d.starter = &starter{node: n, turns: d.turns}
	go d.endOnOverrun(working)
	d.run(fetching)
	return d
}

// run starts the loops.
func (d *Dispatcher) run(fetching context.Context) {
	if len(d.cfg.Orchestrations) > 0 {
		turns := &turnFetcher{node: d.node, turns: d.turns}
		d.fetch(func() { turns.loop(fetching, d.working) })
		if d.cfg.DeadlockLimit > 0 {
			d.loops.Go(func() { d.turns.watch.run(d.working) })
		}
		if d.cfg.CacheIdle > 0 {
			d.loops.Go(func() { d.turns.evictor.evictIdle(d.working) })
		}
	}
	late := &deadlines{node: d.node, judge: d.worker.judge, executions: d.turns}
	d.fetch(func() { late.loop(fetching, d.working) })
	if len(d.cfg.Activities) > 0 {
		stop := d.manage.Listen()
		d.loops.Go(func() {
			defer stop()
			d.manage.Run(d.working)
		})
		tasks := &taskFetcher{node: d.node, worker: d.worker, judge: d.worker.judge}
		d.fetch(func() { tasks.loop(fetching, d.working) })
	}
}

// StartEagerly makes the first turn of an instance and stores the instance as that turn leaves it, in one commit. ok is false if
// nothing is stored by it: the node is busy, the turn is none that goes with a start, or its code failed or is stuck. The instance is
// then to be created the ordinary way, and what fails shows there.
func (d *Dispatcher) StartEagerly(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	return d.starter.start(ctx, req)
}

// fetch runs a loop, or a part of one, that brings work. Shutdown waits for it first.
func (n *node) fetch(loop func()) {
	n.fetchers.Add()
	go func() {
		defer n.fetchers.Done()
		loop()
	}()
}

// NewKey makes a never-reused key that sorts by age.
func NewKey() [16]byte { return uuid.Must(uuid.NewV7()) }
