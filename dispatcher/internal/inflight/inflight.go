// Package inflight counts work in progress.
package inflight

import (
	"context"
	"sync"
)

// Count is a number of things in progress. Unlike a [sync.WaitGroup], a wait for it ends with a context, and others may end work
// in place of a goroutine that does not return. The zero value is ready to use.
type Count struct {
	mu    sync.Mutex
	count int
	idle  chan struct{} // closed when count falls to zero; nil while nobody waits
}

// Add counts one more.
func (c *Count) Add() {
	c.mu.Lock()
	c.count++
	c.mu.Unlock()
}

// Done counts one less.
func (c *Count) Done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count--
	if c.count == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// Wait blocks until nothing is in progress or ctx is done. It reports whether nothing is.
func (c *Count) Wait(ctx context.Context) bool {
	c.mu.Lock()
	if c.count == 0 {
		c.mu.Unlock()
		return true
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}
