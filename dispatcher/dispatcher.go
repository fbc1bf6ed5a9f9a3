package dispatcher

import (
	"context"
	crand "crypto/rand"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/dispatcher/internal/inflight"
	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/dispatcher/internal/storetime"
	"github.com/perdure/perdure/internal/nodes"
	"github.com/perdure/perdure/internal/platform/timelimit"
	"github.com/perdure/perdure/provider"
)

// Dispatcher runs the loops of a node until Shutdown. Its methods may be called from
// several goroutines at once.
type Dispatcher struct {
	cfg     Config
	store   provider.Provider
	clock   storetime.Clock
	count   counters
	turns   *slots
	tasks   *slots
	actors  *actors
	early   *earlyTurns
	freeing freeing
	manage  *manager
	watch   *watch

	slowStarts slowStarts

	suspects *suspects
	pools    *pools
	rate     *nodeRate

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
	d := &Dispatcher{cfg: cfg, store: cfg.Provider, stopped: make(chan struct{})}
	d.turns = newSlots(cfg.MaxTurns)
	d.tasks = newSlots(max(cfg.MaxActivities, 1))
	d.actors = newActors(cfg.CacheCount, cfg.CacheBytes)
	d.early = newEarlyTurns()
	d.suspects = newSuspects()
	d.pools, d.rate = newPools(&cfg), newNodeRate(cfg.ActivitiesPerSecond)
	d.manage = newManager(d)
	d.watch = newWatch(d)
	d.watchdog = leak.New(leak.Options{
		GracePeriod: cfg.GracePeriod, InterruptInterval: cfg.InterruptInterval, MaxInterruptInterval: cfg.MaxInterruptInterval,
		GiveUpAfter: cfg.GiveUpAfter, MaxLeaked: cfg.MaxLeaked, TooMany: d.tooManyLeaks, Logger: cfg.Logger,
	})
	// The loops outlive the caller of Start by design: only Shutdown ends them.
	fetching, stopFetching := context.WithCancel(context.Background()) //nolint:forbidigo // root of the node's life
	working, stopWorking := context.WithCancel(context.Background())   //nolint:forbidigo // root of the node's life
	d.calling = timelimit.NewShared(working, callTimeout)
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
		d.leaveNodes = nodes.Enter(d.store, d)
	}
	d.fetch(func() { d.deadlineLoop(fetching, working) })
	if len(cfg.Activities) > 0 {
		stop := d.manage.listen()
		d.loops.Go(func() {
			defer stop()
			d.manage.run(working)
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

// newToken draws a token or commit ID that nobody can guess: 128 random bits, where a UUID of version 4 has 122.
func newToken() (token provider.UUID) {
	_, _ = crand.Read(token[:]) // never fails
	return token
}

// NewKey makes a never-reused key that sorts by age.
func NewKey() [16]byte { return uuid.Must(uuid.NewV7()) }

// backoff is the delay before a storage call is repeated: 50 ms doubling to 5 s, with jitter.
func backoff(failures int) time.Duration {
	delay := min(50*time.Millisecond<<min(failures, 10), 5*time.Second)
	return delay/2 + rand.N(delay/2)
}

// pause waits for d or until ctx is finished, and tells whether d has passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// storageFailed counts and logs an error that is no answer of the contract.
func (d *Dispatcher) storageFailed(what string, failures int, err error) {
	d.count.storageErrors.Add(1)
	if failures == 1 || failures%20 == 0 {
		d.cfg.Logger.Warn("storage does not answer: trying again", "call", what, "failures", failures, "err", err)
	}
}
