package postgres

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Limits of how long a fetch that found nothing sleeps: in case notifications are lost, and when other transactions
// hold what it could take.
const (
	fallback      = 5 * time.Second
	contended     = 4 * time.Millisecond
	longContended = 200 * time.Millisecond
)

// claims takes work for fetches. Fetches that find none wait here.
type claims struct {
	db       *database
	kinds    *kinds
	cache    *rowCache
	waiters  *waiters
	presence *presence
	notifier *notifier
	group    *group
}

// awaitWork polls for work until it finds some, wait has passed, ctx is done or the provider is closed. No claim is lost: a
// claim for a caller that has gone is undone.
func (c *claims) awaitWork(ctx context.Context, call *waitingFetch, wait time.Duration) error {
	if err := c.db.door.Enter(ctx); err != nil {
		return err
	}
	defer c.db.door.Leave()
	call.woken, call.sooner, call.piggyback.finished = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	call.next.Store(relational.Never)
	c.waiters.add(call)
	defer c.waiters.remove(call)
	end := time.Now().Add(min(wait, provider.MaxWait))
	if delay := c.waiters.pollDelay(call, wait); delay > 0 {
		if over, err := c.sleep(ctx, call, delay); over {
			return err
		}
	}
	for {
		call.next.Store(relational.Never) // work may become due during the poll, before the time that the poll finds
		found, err := c.pollOnce(ctx, call)
		if err != nil || found {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		sleep, err := c.sleepOf(ctx, call)
		if err != nil {
			return err
		}
		if over, err := c.sleep(ctx, call, min(sleep, left)); over {
			return err
		}
		c.kinds.suspect()
	}
}

// sleep waits as awaitWake does, and reports whether the call is over.
func (c *claims) sleep(ctx context.Context, call *waitingFetch, limit time.Duration) (over bool, err error) {
	found, done, err := c.awaitWake(ctx, call, limit)
	if found && ctx.Err() != nil {
		call.undo()
		return true, ctx.Err()
	}
	return found || done, err
}

// pollOnce polls even if the caller's context ends meanwhile.
func (c *claims) pollOnce(ctx context.Context, call *waitingFetch) (bool, error) {
	found, err := call.poll(c.db.detached(ctx))
	if err == nil && !found && c.kinds.stale.Load() { // there may be work of a kind that it did not know
		found, err = call.poll(c.db.detached(ctx))
	}
	if err != nil {
		return false, failed(call.op, err, outcomeOf(err))
	}
	if found && ctx.Err() != nil {
		call.undo()
		return false, ctx.Err()
	}
	return found, ctx.Err()
}

const (
	sqlBeginClaim = sqlByIndex + `, ` + sqlNow + sqlNewest
	// sqlNewest are the highest numbers of kinds.
	sqlNewest = `, (SELECT coalesce(max(id), 0) FROM perdure.kind), (SELECT coalesce(max(id), 0) FROM perdure.task_kind)`
)

// begin begins the batch of a claim with the time, which a claim that finds nothing needs, and with the highest numbers of
// kinds, which show whether the claim knew all that are stored.
func (c *claims) begin(now *provider.Time) *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue(c.db.names.sql(sqlBeginClaim)).QueryRow(func(r pgx.Row) error {
		var turn, task int64
		err := r.Scan(nil, nil, nil, now, &turn, &task)
		c.cache.clock.observe(*now)
		c.kinds.observe(turn, task)
		return err
	})
	return b
}

// run runs the batch of a claim in a transaction of its own. The row of this process must name an owner before the
// owner's first leases are stored. If the process died in between, nobody would end them.
func (c *claims) run(ctx context.Context, owner string, lease time.Duration, b *pgx.Batch, took func() bool) error {
	if c.presence.shows(owner) {
		return c.db.pooled(ctx, b)
	}
	conn, err := c.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // closing the connection rolls back an open transaction
	begun := &pgx.Batch{}
	begun.Queue(sqlBegin)
	begun.QueuedQueries = append(begun.QueuedQueries, b.QueuedQueries...)
	if err := c.db.exchange(ctx, conn.Conn(), begun); err != nil {
		return err
	}
	if took() {
		if err := c.presence.show(ctx, owner, lease); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, `COMMIT`)
	return err
}

// sleepOf returns how long the call may sleep if nothing wakes it.
func (c *claims) sleepOf(ctx context.Context, call *waitingFetch) (time.Duration, error) {
	now, next, err := call.due(c.db.detached(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, failed(call.op, err, provider.OutcomeNothing)
	}
	sleep := fallback - rand.N(fallback/4)
	if next == relational.Never {
		if call.notified && c.notifier.listening.Load() {
			return provider.MaxWait, nil
		}
		return sleep, nil
	}
	if next <= now {
		call.contended = min(max(2*call.contended, contended), longContended)
		return call.contended/2 + rand.N(call.contended), nil
	}
	call.contended = 0
	call.lower(int64(next))
	return min(sleep, next.Sub(now)), nil
}

// awaitWake sleeps until there may be work, or until a piggybacked claim got some. done reports that the call is over.
func (c *claims) awaitWake(ctx context.Context, call *waitingFetch, sleep time.Duration) (found, done bool, err error) {
	timer := time.NewTimer(sleep)
	defer timer.Stop()
	end := time.Now().Add(sleep)
	call.piggyback.beginWait()
	for {
		select {
		case <-call.piggyback.finished:
			return call.piggyback.detach(), call.piggyback.err != nil, call.piggyback.err
		case <-call.sooner:
			now := c.cache.clock.now()
			if now != 0 {
				timer.Reset(min(time.Until(end), provider.Time(call.next.Load()).Sub(now)))
				continue
			}
		case <-call.woken:
		case <-timer.C:
		case <-ctx.Done():
			done, err = true, ctx.Err()
		case <-c.db.door.Closing:
			done, err = true, provider.ErrClosed
		}
		if call.piggyback.endWait() {
			call.wake() // the work may have come too late for the piggybacked claim
			return true, true, nil
		}
		if call.piggyback.err != nil {
			return false, true, call.piggyback.err
		}
		return false, done, err
	}
}
