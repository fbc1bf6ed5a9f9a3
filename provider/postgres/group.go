package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider/internal/relational"
)

// Limits of groups and committers. If there is much to do, a second committer keeps the server busy while the first
// waits for its disk.
const (
	committers    = 2
	maxGroup      = 64
	maxGroupBytes = 8 << 20
)

// group collects the calls of a process that change instances into transactions.
//
// Renewals have a queue, a committer and connections of their own. Otherwise a program that holds all connections of
// the pool would lose its leases. Renewals lock tasks without the instances above them, which all others lock first. So
// they must not share a transaction with a call that may wait for a lock.
type group struct {
	db        *database
	kinds     *kinds
	cache     *rowCache
	units     *units
	commits   *commits
	queue     *relational.Queue
	scheduler *scheduler // of the queue of calls
	renewals  *relational.Queue
	quick     chan struct{} // bounds the calls in transactions of their own that do not wait for locks
	waiting   chan struct{} // bounds those that wait for locks
	ended     sync.WaitGroup
	ctx       context.Context //nolint:containedctx // a group belongs to no caller, so that no caller's context may end it
	cancel    context.CancelFunc
}

func startGroup(db *database, kinds *kinds, cache *rowCache, units *units, commits *commits) *group {
	g := &group{
		db: db, kinds: kinds, cache: cache, units: units, commits: commits, queue: relational.NewQueue(), renewals: relational.NewQueue(),
		quick: make(chan struct{}, maxQuick), waiting: make(chan struct{}, maxWaiting),
	}
	g.ctx, g.cancel = context.WithCancel(db.hard)
	g.scheduler = newScheduler(g.queue, cache.key)
	renewing := newScheduler(g.renewals, cache.key)
	for range committers {
		g.ended.Go(func() { g.loop(g.queue, g.scheduler, db.pool) })
	}
	g.ended.Go(func() { g.loop(g.renewals, renewing, db.reserve) })
	return g
}

// stop ends the committers once the queues are empty.
func (g *group) stop() {
	g.queue.Stop()
	g.renewals.Stop()
	g.ended.Wait()
	g.cancel()
}

func (g *group) loop(queue *relational.Queue, scheduler *scheduler, pool *pgxpool.Pool) {
	again := time.NewTimer(patience)
	defer again.Stop()
	for {
		members, stopped := scheduler.take(queue)
		if len(members) == 0 {
			if stopped {
				queue.Wake() // the other committers wait for the signal, too
				return
			}
			if queue.Len() > 0 { // another group is in flight
				again.Reset(patience)
			}
			select {
			case <-queue.Signal:
			case <-again.C:
			}
			continue
		}
		if len(members) == maxGroup {
			queue.Wake() // there may be more
		}
		ownTx := g.runGroup(pool, members)
		scheduler.linger(queue, len(members)-len(ownTx))
		scheduler.release(members)
		for _, m := range ownTx {
			g.ended.Go(func() {
				if !g.again(queue, m) {
					g.runOwnTx(pool, m)
				}
			})
		}
	}
}

// again queues a call for a later group, when the holder of its instance may be done. The holder is a fetch in most
// cases. It returns false if the call has tried too often or needs its own transaction for another reason.
func (g *group) again(queue *relational.Queue, m *relational.Member) bool {
	if m.Conflicts == 0 || m.Conflicts > quickTries || queue == g.renewals {
		return false
	}
	pause(g.ctx, m.Conflicts)
	return queue.Return(m)
}

// enqueue queues a call and waits for its commit. Renewals have a queue of their own.
func (g *group) enqueue(ctx context.Context, m *relational.Member, renewal bool) error {
	if err := g.db.door.Enter(ctx); err != nil {
		return err
	}
	defer g.db.door.Leave()
	if m.Step {
		if done, err := g.lead(ctx, m); done {
			return err
		}
	}
	queue := g.queue
	if renewal {
		queue = g.renewals
	}
	return queue.Await(ctx, g.db.door.Closing, m, false)
}

// doOwnTx runs fn in a transaction of its own, for a call that reads what its request does not name. In a group it would make all
// others of the group read and lock first, in place of one round trip. A bulk delete of 100 a second cost 29 % of the throughput so.
func doOwnTx[T any](
	ctx context.Context, g *group, op string, needs relational.Needs, fn func(*relational.Tx, *T) error,
) (T, error) {
	return relational.Do(ctx, g.submitOwnTx, &relational.Member{Op: op, Needs: needs}, false, fn)
}

// submitOwnTx runs a call outside the queue and waits for its commit.
func (g *group) submitOwnTx(ctx context.Context, m *relational.Member, _ bool) error {
	if err := g.db.door.Enter(ctx); err != nil {
		return err
	}
	defer g.db.door.Leave()
	g.queue.Withdraw(m)                             // no group takes it
	g.ended.Go(func() { g.runOwnTx(g.db.pool, m) }) //nolint:contextcheck // it ends in any case, although its caller may go
	return g.queue.Wait(ctx, g.db.door.Closing, m)
}

// later runs fn in a group that nobody waits for.
func (g *group) later(op string, needs relational.Needs, fn func(*relational.Tx) error) {
	g.queue.Submit(&relational.Member{Op: op, Needs: needs, Run: fn, Done: make(chan struct{})}, false)
}
