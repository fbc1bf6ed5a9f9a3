package dispatcher

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/perdure/perdure/dispatcher/internal/leak"
	"github.com/perdure/perdure/provider"
)

// Dispatcher runs the loops of a node until Shutdown. Its methods may be called from
// several goroutines at once.
type Dispatcher struct {
	node *node

	turns  *turns
	worker *worker
	locals *localWorker

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
	// The loops outlive the caller of Start by design: only Shutdown ends them.
	fetching, stopFetching := context.WithCancel(context.Background()) //nolint:forbidigo // root of the node's life
	working, stopWorking := context.WithCancel(context.Background())   //nolint:forbidigo // root of the node's life
	n := newNode(working, cfg)
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
	d.worker.connect(d.turns)
	go d.endOnOverrun(working)
	d.run(fetching)
	return d
}

// run starts the loops.
func (d *Dispatcher) run(fetching context.Context) {
	if len(d.node.cfg.Orchestrations) > 0 {
		d.node.fetch(func() { d.turns.loop(fetching, d.node.working) })
		if d.node.cfg.DeadlockLimit > 0 {
			d.loops.Go(func() { d.turns.watchStuck(d.node.working) })
		}
		if d.node.cfg.CacheIdle > 0 {
			d.loops.Go(func() { d.turns.evictIdle(d.node.working) })
		}
	}
	d.node.fetch(func() { d.worker.endLate(fetching, d.node.working) })
	if len(d.node.cfg.Activities) > 0 {
		stop := d.node.manage.Listen()
		d.loops.Go(func() {
			defer stop()
			d.node.manage.Run(d.node.working)
		})
		d.node.fetch(func() { d.worker.loop(fetching, d.node.working) })
	}
}

// StartEagerly makes the first turn of an instance and stores the instance as that turn leaves it, in one commit. ok is false if
// nothing is stored by it: the node is busy, the turn is none that goes with a start, or its code failed or is stuck. The instance is
// then to be created the ordinary way, and what fails shows there.
func (d *Dispatcher) StartEagerly(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, ok bool, err error) {
	return d.turns.startEagerly(ctx, req)
}

// NewKey makes a never-reused key that sorts by age.
func NewKey() [16]byte { return uuid.Must(uuid.NewV7()) }
