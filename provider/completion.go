package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Completion is what a running activity wants to have done inside the transaction that completes it. The engine puts one into the
// context of each attempt; functions of the packages of stores, such as postgres.OnComplete, add to it. It
// is safe for concurrent use.
type Completion struct {
	mu     sync.Mutex
	fns    []func(Tx) error
	closed bool
	refuse error       // why nothing can be handed over
	inside atomic.Bool // the functions run
}

type completionKey struct{}

var (
	errNoActivity = errors.New("the context is not one that an activity was given: pass that, or one derived from it")
	errInside     = errors.New("a function that runs inside the store's transaction waits for itself when it calls the store past it: pass InTx(tx)")
	errOver       = errors.New("the attempt is over: hand the function over before the activity returns")
)

// WithCompletion returns a context that carries c. It is for the engine.
func WithCompletion(ctx context.Context, c *Completion) context.Context {
	return context.WithValue(ctx, completionKey{}, c)
}

// OnComplete hands over a function for the transaction that completes the activity whose context is given. It is for
// the packages of stores, which check in fn that the transaction is of their kind. It answers ErrInvalid if the context
// is not that of a running activity.
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

// Refuse has OnComplete answer ErrInvalid for the given reason.
func (c *Completion) Refuse(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = reason
}

// Close answers one function that calls all that were handed over, in order, until one fails; nil if there are none. None
// can be added any more.
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

// CheckPast answers ErrInvalid if ctx is that of an activity whose functions run inside a transaction at this moment. It is for
// stores that have one writer, which such a function must not wait for.
func CheckPast(ctx context.Context) error {
	if c, ok := ctx.Value(completionKey{}).(*Completion); ok && c.inside.Load() {
		return fmt.Errorf("%w: %w", ErrInvalid, errInside)
	}
	return nil
}
