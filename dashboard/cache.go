package dashboard

import (
	"context"
	"sync"
	"time"
)

const (
	cacheTime = 10 * time.Second
	// countTime bounds what looks at many rows.
	countTime = 2 * time.Second
	// incidentTime is longer than an incident takes, so that the page knows as much as the command.
	incidentTime = 6 * time.Second
	// countLimit is how far instances are counted: pages show more as "10k+".
	countLimit = 10_000
)

// cache keeps what is expensive to read for ten seconds. One of many concurrent requests reads.
type cache[T any] struct {
	bound time.Duration // of a read
	turn  chan struct{} // held by the request that reads

	mu    sync.Mutex
	value T
	err   error
	until time.Time
}

func newCache[T any](bound time.Duration) *cache[T] {
	return &cache[T]{bound: bound, turn: make(chan struct{}, 1)}
}

// get returns the value, reading it if the last one has expired. An error is kept for a second.
func (c *cache[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	if v, err, ok := c.known(); ok {
		return v, err
	}
	var none T
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	if v, err, ok := c.known(); ok {
		return v, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.bound)
	defer cancel()
	v, err := read(bounded)
	if err != nil && ctx.Err() != nil {
		return none, err // the request was given up, which says nothing about the store
	}
	keep := cacheTime
	if err != nil {
		keep = time.Second
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value, c.err, c.until = v, err, time.Now().Add(keep)
	return v, err
}

func (c *cache[T]) known() (v T, err error, ok bool) { //nolint:revive // the error is a part of what is kept
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.err, time.Now().Before(c.until)
}
