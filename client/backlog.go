package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// A client looks at the backlog at most every pauseOfLooks. Looking takes at most one part in costOfLooks of the time.
const (
	pauseOfLooks = 10 * time.Millisecond
	costOfLooks  = 20
)

// A backlog holds starts back while too much work waits in the store. It looks at the store, because only the store knows what
// all clients have started and all nodes have done. A look counts until the next one: it lets in as many starts as fitted then.
// So one client never exceeds the limit, and several exceed it at most by what each of them saw.
type backlog struct {
	limit  int64
	store  *storage
	line   chan struct{} // held by the first start that waits; the others queue for it
	looker chan struct{} // held by the goroutine that looks

	mu    sync.Mutex
	seen  OverloadedError
	until time.Time // when seen expires
}

func newBacklog(limit int, store *storage) *backlog {
	return &backlog{limit: int64(limit), store: store, line: make(chan struct{}, 1), looker: make(chan struct{}, 1)}
}

// enter lets a start in, or returns why not.
func (b *backlog) enter(ctx context.Context, doing string, policy OverloadPolicy) error {
	if policy == Refuse {
		full, err := b.try(ctx, doing)
		if full != nil {
			return full
		}
		return err
	}
	if err := hold(ctx, b.line); err != nil {
		return err
	}
	defer func() { <-b.line }()
	var last *OverloadedError
	for {
		full, err := b.try(ctx, doing)
		if full != nil {
			last = full
			if !sleep(ctx, full.RetryAfter) {
				err = why(ctx)
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

// try lets a start in if there is room. It looks at the store if the last look has expired.
func (b *backlog) try(ctx context.Context, doing string) (full *OverloadedError, err error) {
	if full, known := b.known(); known {
		return full, nil
	}
	if err := hold(ctx, b.looker); err != nil {
		return nil, err
	}
	defer func() { <-b.looker }()
	if full, known := b.known(); known { // another goroutine has looked meanwhile
		return full, nil
	}
	began := time.Now()
	seen, err := b.store.waiting(ctx, doing)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen, b.until = seen, now.Add(max(pauseOfLooks, costOfLooks*now.Sub(began)))
	return b.take(now), nil
}

// known decides by the last look; known is false if that has expired.
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

// hold acquires a place for one goroutine. Those that wait get it in order.
func hold(ctx context.Context, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return why(ctx)
	}
}

// waiting returns how much work waits for nodes.
func (s *storage) waiting(ctx context.Context, doing string) (seen OverloadedError, err error) {
	stats, err := read(ctx, s, doing+": looking at what waits", s.Stats, provider.StatsRequest{Waiting: true})
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
func (c *Client) admit(ctx context.Context, doing string, o *startOptions) error {
	policy := c.policy
	if o.overload != nil {
		policy = *o.overload
	}
	if c.backlog == nil || policy == Admit || policy == Block && o.tx != nil {
		return nil
	}
	return c.backlog.enter(ctx, doing, policy)
}
