package postgres

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// How long a fetch that found nothing sleeps at most, against lost notifications, and how
// soon it looks again when others hold what it could take.
const (
	fallback      = 5 * time.Second
	contended     = 4 * time.Millisecond
	longContended = 200 * time.Millisecond
)

// claims takes work for fetches, and lets those wait that find none.
type claims struct {
	db       *database
	kinds    *kinds
	memory   *memory
	parking  *parking
	presence *presence
	wake     *wake
	group    *group
}

// park looks until there is something, wait has passed, ctx is finished or the provider is
// closed. A claim is never lost: what was taken for a caller that had gone is given back.
func (c *claims) park(ctx context.Context, call *parked, wait time.Duration) error {
	if err := c.db.door.Enter(ctx); err != nil {
		return err
	}
	defer c.db.door.Leave()
	call.wake, call.sooner, call.ride.over = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	call.next.Store(relational.Never)
	c.parking.add(call)
	defer c.parking.leave(call)
	end := time.Now().Add(min(wait, provider.MaxWait))
	if rest := c.parking.relieve(call, wait); rest > 0 {
		if over, err := c.sleep(ctx, call, rest); over {
			return err
		}
	}
	for {
		call.next.Store(relational.Never) // what becomes due while this looks may be earlier than what it sees
		found, err := c.lookOnce(ctx, call)
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

// sleep lets a call doze, and tells whether it is over.
func (c *claims) sleep(ctx context.Context, call *parked, limit time.Duration) (over bool, err error) {
	found, done, err := c.doze(ctx, call, limit)
	if found && ctx.Err() != nil {
		call.undo()
		return true, ctx.Err()
	}
	return found || done, err
}

// lookOnce looks, whatever becomes of the caller meanwhile.
func (c *claims) lookOnce(ctx context.Context, call *parked) (bool, error) {
	found, err := call.look(c.db.unheeding(ctx))
	if err != nil {
		return false, failed(call.op, err, outcomeOf(err))
	}
	if found && ctx.Err() != nil {
		call.undo()
		return false, ctx.Err()
	}
	return found, ctx.Err()
}

// begin begins the batch of a claim: with the time, for a claim that finds nothing.
func (c *claims) begin(now *provider.Time) *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue(sqlByIndex + `, ` + sqlNow).QueryRow(func(r pgx.Row) error {
		err := r.Scan(nil, nil, nil, now)
		c.memory.clock.heard(*now)
		return err
	})
	return b
}

// run runs the batch of a claim, which is a transaction of its own. The first leases of an owner are stored only after the row of this
// process names it: if the process died in between, nobody would end them.
func (c *claims) run(ctx context.Context, owner string, lease time.Duration, b *pgx.Batch, took func() bool) error {
	if c.presence.shows(owner) {
		return c.db.pooled(ctx, b)
	}
	conn, err := c.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // a transaction that was not committed ends with the connection
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

// sleepOf answers how long the call may sleep if it is not woken.
func (c *claims) sleepOf(ctx context.Context, call *parked) (time.Duration, error) {
	now, next, err := call.due(c.db.unheeding(ctx))
	if err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return 0, failed(call.op, err, provider.OutcomeNothing)
	}
	sleep := fallback - rand.N(fallback/4)
	if next == relational.Never {
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

// doze sleeps until something may be there, or has been claimed along with a commit; done says that the call is over.
func (c *claims) doze(ctx context.Context, call *parked, sleep time.Duration) (found, done bool, err error) {
	timer := time.NewTimer(sleep)
	defer timer.Stop()
	end := time.Now().Add(sleep)
	call.ride.doze()
	for {
		select {
		case <-call.ride.over:
			return call.ride.ends(), call.ride.err != nil, call.ride.err
		case <-call.sooner:
			now := c.memory.clock.now()
			if now != 0 {
				timer.Reset(min(time.Until(end), provider.Time(call.next.Load()).Sub(now)))
				continue
			}
		case <-call.wake:
		case <-timer.C:
		case <-ctx.Done():
			done, err = true, ctx.Err()
		case <-c.db.door.Closing:
			done, err = true, provider.ErrClosed
		}
		if call.ride.wakes() {
			call.rouse() // what this was about may have come too late for the ride
			return true, true, nil
		}
		if call.ride.err != nil {
			return false, true, call.ride.err
		}
		return false, done, err
	}
}
