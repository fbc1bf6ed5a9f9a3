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
	"github.com/perdure/perdure/internal/nodes"
	"github.com/perdure/perdure/internal/platform/timelimit"
)

// Dispatcher runs the loops of a node until Shutdown. Its methods may be called from
// several goroutines at once.
type Dispatcher struct {
	cfg     Config
	store   *storage.Store
	clock   *storetime.Clock // of store
	count   counters
	turns   *flow.Slots
	tasks   *flow.Slots
	actors  *actors
	early   *earlyTurns
	freeing freeing
	manage  *manage.Manager
	watch   *watch

	slowStarts slowStarts

	suspects *suspect.List
	pools    *flow.Pools
	rate     *flow.NodeRate

	// taskLoopIdle tells that the task loop is parked in a fetch that found nothing: only
	// then may commits hand tasks to this node, past the queue.
	taskLoopIdle atomic.Bool
	turnsQueue   atomic.Bool // the turn loop waits for a slot
	stopping     atomic.Bool

	working      context.Context   //nolint:containedctx // of all work until the node has stopped
	calling      *timelimit.Shared // of commits
	leaveNodes   func()            // clients of this process start nothing here any more
	stopFetching context.CancelFunc
	stopWorking  context.CancelFunc
	fetchers     inflight.Count // fetch loops
	loops        sync.WaitGroup // manager and watch
	work         inflight.Count // turns, attempts and closing executions
	watchdog     *leak.Watchdog
	fatal        atomic.Pointer[error]
	stopped      chan struct{} // closed when Shutdown is done; shutdownErr is set then
	shutdownErr  error
	hurried      chan struct{} // closed when the context of any caller of Shutdown has finished
	hurry        func()
	overrun      chan struct{}   // closed when the node must end itself
	localsLive   context.Context //nolint:containedctx // of all local activities
	tellLocals   context.CancelCauseFunc
}

// Start starts the loops. They run until Shutdown.
func Start(cfg Config) *Dispatcher {
	d := &Dispatcher{cfg: cfg, store: storage.New(cfg.Provider, cfg.Lease, cfg.Logger), stopped: make(chan struct{})}
	d.clock = &d.store.Clock
	d.turns = flow.NewSlots(cfg.MaxTurns)
	d.tasks = flow.NewSlots(max(cfg.MaxActivities, 1))
	d.actors = newActors(cfg.CacheCount, cfg.CacheBytes)
	d.early = newEarlyTurns()
	d.suspects = suspect.NewList()
	d.pools, d.rate = flow.NewPools(cfg.Limits, cfg.QueueLimits, cfg.queues()), flow.NewNodeRate(cfg.ActivitiesPerSecond)
	d.manage = manage.New(d.store, manage.Options{Owner: cfg.Owner, Lease: cfg.Lease, Sessions: cfg.Sessions})
	d.watch = newWatch(d)
	d.watchdog = leak.New(leak.Options{
		GracePeriod: cfg.GracePeriod, InterruptInterval: cfg.InterruptInterval, MaxInterruptInterval: cfg.MaxInterruptInterval,
		GiveUpAfter: cfg.GiveUpAfter, MaxLeaked: cfg.MaxLeaked, TooMany: d.tooManyLeaks, Logger: cfg.Logger,
	})
	// The loops outlive the caller of Start by design: only Shutdown ends them.
	fetching, stopFetching := context.WithCancel(context.Background()) //nolint:forbidigo // root of the node's life
	working, stopWorking := context.WithCancel(context.Background())   //nolint:forbidigo // root of the node's life
	d.calling = timelimit.NewShared(working, storage.CallTimeout)
	d.working, d.stopFetching, d.stopWorking = working, stopFetching, stopWorking
	d.hurried, d.overrun = make(chan struct{}), make(chan struct{})
	d.localsLive, d.tellLocals = context.WithCancelCause(working)
	d.hurry = sync.OnceFunc(func() { close(d.hurried) })
	go d.endOnOverrun(working)
	d.leaveNodes = func() {}
	if len(cfg.Orchestrations) > 0 {
		d.fetch(func() { d.turnLoop(fetching, working) })
		if cfg.DeadlockLimit > 0 {
			d.loops.Go(func() { d.watch.run(working) })
		}
		if cfg.CacheIdle > 0 {
			d.loops.Go(func() { d.forgetIdle(working) })
		}
		d.leaveNodes = nodes.Enter(cfg.Provider, d)
	}
	d.fetch(func() { d.deadlineLoop(fetching, working) })
	if len(cfg.Activities) > 0 {
		stop := d.manage.Listen()
		d.loops.Go(func() {
			defer stop()
			d.manage.Run(working)
		})
		d.fetch(func() { d.taskLoop(fetching, working) })
	}
	return d
}

func (d *Dispatcher) fetch(loop func()) {
	d.fetchers.Add()
	go func() {
		defer d.fetchers.Done()
		loop()
	}()
}

// NewKey makes a never-reused key that sorts by age.
func NewKey() [16]byte { return uuid.Must(uuid.NewV7()) }
