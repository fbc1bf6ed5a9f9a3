package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Completion collects what a running activity wants to do inside the transaction that completes it. The
// engine puts one into the context of each attempt. Functions of store packages, such as
// postgres.OnComplete, add to it. It is safe for concurrent use.
type Completion struct {
	mu     sync.Mutex
	fns    []func(Tx) error
	closed bool
	refuse error       // why no function can be added
	inside atomic.Bool // the functions are running
}

type completionKey struct{}

var (
	errNoActivity = errors.New("the context is not one that an activity was given: pass that, or one derived from it")
	errInside     = errors.New("a call outside the transaction would deadlock with the store's transaction around it: pass InTx(tx)")
	errOver       = errors.New("the attempt is over: add the function before the activity returns")
)

// WithCompletion returns a context that carries c. It is for the engine.
func WithCompletion(ctx context.Context, c *Completion) context.Context {
	return context.WithValue(ctx, completionKey{}, c)
}

// OnComplete adds fn to the transaction that completes the activity to which ctx belongs. It is for store
// packages, which check in fn that the transaction is of their kind. It returns ErrInvalid if ctx does not
// belong to a running activity.
func OnComplete(ctx context.Context, fn func(Tx) error) error {
	c, ok := ctx.Value(completionKey{}).(*Completion)
	if !ok {
		return fmt.Errorf("%w: %w", ErrInvalid, errNoActivity)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, c.refuse)
	}
	if c.closed {
		return fmt.Errorf("%w: %w", ErrInvalid, errOver)
	}
	c.fns = append(c.fns, fn)
	return nil
}

// Refuse makes OnComplete return ErrInvalid with the given reason.
func (c *Completion) Refuse(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = reason
}

// Close returns one function that calls all added functions in order, until one fails. It returns nil if
// there are none. No function can be added after Close.
func (c *Completion) Close() func(Tx) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if len(c.fns) == 0 {
		return nil
	}
	return func(tx Tx) error {
		c.inside.Store(true)
		defer c.inside.Store(false)
		for _, fn := range c.fns {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// CheckPast returns ErrInvalid if ctx belongs to an activity whose functions run inside a transaction at this
// moment. It is for stores with a single writer: such a function would deadlock with it.
func CheckPast(ctx context.Context) error {
	if c, ok := ctx.Value(completionKey{}).(*Completion); ok && c.inside.Load() {
		return fmt.Errorf("%w: %w", ErrInvalid, errInside)
	}
	return nil
}
