package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// How calls are folded. A second committer keeps the server busy while the first waits for its disk, if there is much to do.
const (
	committers    = 2
	maxGroup      = 64
	maxGroupBytes = 8 << 20
)

// A writer folds the calls of a process that change instances into transactions.
//
// Renewals have a queue, a committer and connections of their own: a pool whose connections the program holds must not cost
// its leases. They lock tasks without the instances above them, which
// everybody else locks first. So they must not share a transaction with a call that may wait for anything.
type writer struct {
	p        *Provider
	queue    *relational.Queue
	crowd    *crowd // of that queue
	renewals *relational.Queue
	quick    chan struct{} // bounds the calls that run by themselves and wait for no lock
	waiting  chan struct{} // bounds those that do
	over     chan *unit    // to be used again
	ended    sync.WaitGroup
	ctx      context.Context //nolint:containedctx // a group belongs to no caller, so that no caller's context may end it
	cancel   context.CancelFunc
	commits  atomic.Int64
	turns    atomic.Int64
	dropped  atomic.Int64
}

func startWriter(p *Provider) *writer {
	w := &writer{
		p: p, queue: relational.NewQueue(), renewals: relational.NewQueue(),
		quick: make(chan struct{}, maxQuick), waiting: make(chan struct{}, maxWaiting), over: make(chan *unit, committers+1),
	}
	w.ctx, w.cancel = context.WithCancel(p.hard)
	w.crowd = newCrowd(w.queue, p.warm.key)
	renewing := newCrowd(w.renewals, p.warm.key)
	for range committers {
		w.ended.Go(func() { w.loop(w.queue, w.crowd, p.pool) })
	}
	w.ended.Go(func() { w.loop(w.renewals, renewing, p.spare) })
	return w
}

// stop ends the committers after what is queued.
func (w *writer) stop() {
	w.queue.Stop()
	w.renewals.Stop()
	w.ended.Wait()
	w.cancel()
}

func (w *writer) loop(queue *relational.Queue, crowd *crowd, pool *pgxpool.Pool) {
	again := time.NewTimer(patience)
	defer again.Stop()
	for {
		group, stopped := crowd.take(queue)
		if len(group) == 0 {
			if stopped {
				queue.Poke() // the other committers wait for it, too
				return
			}
			if queue.Len() > 0 { // another group is under way
				again.Reset(patience)
			}
			select {
			case <-queue.Signal:
			case <-again.C:
			}
			continue
		}
		if len(group) == maxGroup {
			queue.Poke() // there may be more
		}
		alone := w.together(pool, group)
		crowd.gather(queue, len(group)-len(alone))
		crowd.leave(group)
		for _, m := range alone {
			w.ended.Go(func() {
				if !w.again(queue, m) {
					w.byItself(pool, m)
				}
			})
		}
	}
}

// again lets a call take part in a later group, when whoever held its instance may be done: in most cases a fetch. It answers false
// for one that has tried that too often, or has another reason to go by itself.
func (w *writer) again(queue *relational.Queue, m *relational.Member) bool {
	if m.Held == 0 || m.Held > quickTries || queue == w.renewals {
		return false
	}
	pause(w.ctx, m.Held)
	return queue.Return(m)
}

// write runs fn in a group and waits for its commit.
func write[T any](
	ctx context.Context, p *Provider, op string, bytes int, needs relational.Needs, fn func(*relational.Tx, *T) error,
) (T, error) {
	return relational.Do(ctx, p.enqueue, &relational.Member{Op: op, Bytes: bytes, Needs: needs}, false, fn)
}

// enqueue queues a call and waits for its commit. Renewals have a queue of their own.
func (p *Provider) enqueue(ctx context.Context, m *relational.Member, renewal bool) error {
	if err := p.door.Enter(ctx); err != nil {
		return err
	}
	defer p.door.Leave()
	if m.Step {
		if done, err := p.writer.lead(ctx, m); done {
			return err
		}
	}
	queue := p.writer.queue
	if renewal {
		queue = p.writer.renewals
	}
	return queue.Await(ctx, p.door.Closing, m, false)
}

// later runs fn in a group that nobody waits for.
func (w *writer) later(op string, needs relational.Needs, fn func(*relational.Tx) error) {
	w.queue.Submit(&relational.Member{Op: op, Needs: needs, Run: fn, Done: make(chan struct{})}, false)
}

// autocommit runs a statement outside of groups.
func (p *Provider) autocommit(ctx context.Context, op string, fn func(context.Context, *pgxpool.Pool) error) error {
	if err := p.door.Enter(ctx); err != nil {
		return err
	}
	defer p.door.Leave()
	bounded, cancel := p.bounded(ctx)
	defer cancel()
	err := fn(bounded, p.pool)
	return failed(op, err, outcomeOf(err))
}

// finish answers members.
func finish(group []*relational.Member, err error, outcome provider.Outcome) {
	for _, m := range group {
		m.Err = failed(m.Op, err, outcome)
		close(m.Done)
	}
}
