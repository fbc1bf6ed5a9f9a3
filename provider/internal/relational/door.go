package relational

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

// Door admits calls until it is closed. It is safe for concurrent use.
type Door struct {
	// Closing is closed by the first Close.
	Closing chan struct{}

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

// NewDoor returns an open door.
func NewDoor() Door { return Door{Closing: make(chan struct{})} }

// Enter begins a call. Leave must follow unless it fails.
func (d *Door) Enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return provider.ErrClosed
	}
	d.inside.Add(1)
	return nil
}

// Leave ends a call.
func (d *Door) Leave() { d.inside.Done() }

// Close refuses new calls and waits for those inside. It reports whether the door was open.
func (d *Door) Close() (first bool) {
	d.mu.Lock()
	if first = !d.closed; first {
		d.closed = true
		close(d.Closing)
	}
	d.mu.Unlock()
	d.inside.Wait()
	return first
}
