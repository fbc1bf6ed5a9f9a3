package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// A client polls the backlog at most every minPollInterval. Polling takes at most one part in pollCostFactor of the time.
const (
	minPollInterval = 10 * time.Millisecond
	pollCostFactor  = 20
)

// A backlog holds starts back while too much work waits in the store. It polls the store, because only the store knows what
// all clients have started and all nodes have done. A poll counts until the next one: it lets in as many starts as fitted then.
// So one client never exceeds the limit, and several exceed it at most by what each of them saw.
type backlog struct {
	limit  int64
	store  *storage
	queue  chan struct{} // held by the first start that waits; the others queue for it
	poller chan struct{} // held by the goroutine that polls

	mu    sync.Mutex
	seen  OverloadedError
	until time.Time // when seen expires
}

func newBacklog(limit int, store *storage) *backlog {
	return &backlog{limit: int64(limit), store: store, queue: make(chan struct{}, 1), poller: make(chan struct{}, 1)}
}

// enter lets a start in, or returns why not.
func (b *backlog) enter(ctx context.Context, op string, policy OverloadPolicy) error {
	if policy == Refuse {
		full, err := b.try(ctx, op)
		if full != nil {
			return full
		}
		return err
	}
	if err := acquire(ctx, b.queue); err != nil {
		return err
	}
	defer func() { <-b.queue }()
	var last *OverloadedError
	for {
		full, err := b.try(ctx, op)
		if full != nil {
			last = full
			if !access.Sleep(ctx, full.RetryAfter) {
				err = access.Why(ctx)
			}
		}
		switch {
		case err != nil && last != nil:
			return fmt.Errorf("%w while it was held back: %w", err, last)
		case err != nil || full == nil:
			return err
		}
	}
}

// try lets a start in if there is room. It polls the store if the last poll has expired.
func (b *backlog) try(ctx context.Context, op string) (full *OverloadedError, err error) {
	if full, known := b.known(); known {
		return full, nil
	}
	if err := acquire(ctx, b.poller); err != nil {
		return nil, err
	}
	defer func() { <-b.poller }()
	if full, known := b.known(); known { // another goroutine has polled meanwhile
		return full, nil
	}
	began := time.Now()
	seen, err := b.store.waiting(ctx, op)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen, b.until = seen, now.Add(max(minPollInterval, pollCostFactor*now.Sub(began)))
	return b.take(now), nil
}

// known decides by the last poll; known is false if that has expired.
func (b *backlog) known() (full *OverloadedError, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !now.Before(b.until) {
		return nil, false
	}
	return b.take(now), true
}

// take counts a start in, or returns why there is no room. The lock is held.
func (b *backlog) take(now time.Time) *OverloadedError {
	if b.seen.Turns+b.seen.Activities < b.limit {
		b.seen.Turns++
		return nil
	}
	full := b.seen
	full.Limit, full.RetryAfter = int(b.limit), b.until.Sub(now)
	return &full
}

// acquire acquires a place for one goroutine. Those that wait get it in order.
func acquire(ctx context.Context, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return access.Why(ctx)
	}
}

// waiting returns how much work waits for nodes.
func (s *storage) waiting(ctx context.Context, op string) (seen OverloadedError, err error) {
	stats, err := access.Read(ctx, s.Store, op+": looking at what waits", s.Stats, provider.StatsRequest{Waiting: true})
	most := int64(0)
	count := func(total *int64, n int64, what string) {
		if *total += n; n > most {
			most, seen.Most = n, what
		}
	}
	for _, t := range stats.Turns {
		count(&seen.Turns, t.Count, fmt.Sprintf("orchestration %q", t.Name))
	}
	for _, t := range stats.Tasks {
		count(&seen.Activities, t.Count, fmt.Sprintf("activity %q of queue %q", t.Name, t.Queue))
	}
	return seen, err
}

// admit holds a start back while too much work waits.
func (c *Client) admit(ctx context.Context, op string, o *startOptions) error {
	policy := c.policy
	if o.overload != nil {
		policy = *o.overload
	}
	if c.backlog == nil || policy == Admit || policy == Block && o.tx != nil {
		return nil
	}
	return c.backlog.enter(ctx, op, policy)
}
