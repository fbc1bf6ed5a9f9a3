package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/provider"
)

// Handle is one instance whose output is an Out. It names the instance's key: if the ID is given to another instance, the
// handle still means the old one. It is a plain value: many goroutines may copy, compare and use it at once. A zero Handle
// returns ErrInvalid.
type Handle[Out any] struct {
	c *Client
	t access.Target
}

// Lookup returns a handle of the instance that the ID names now, running or ended, and ErrNotFound if there is none. The type
// Out is not checked before Wait decodes the output.
func Lookup[Out any](ctx context.Context, c *Client, id string) (Handle[Out], error) {
	op := fmt.Sprintf("looking up %s", access.Target{ID: id})
	if err := c.usable(ctx); err != nil {
		return Handle[Out]{}, fmt.Errorf("%s: %w", op, err)
	}
	t, _, err := c.store.Resolve(ctx, access.Target{ID: id}, op)
	if err != nil {
		return Handle[Out]{}, err
	}
	return Handle[Out]{c: c, t: t}, nil
}

// LookupKey returns a handle of the instance with a key, running or ended, replaced or not, and ErrNotFound if there is none. It
// reaches instances whose ID a path cannot have, such as "..", and never a successor under the ID.
func LookupKey[Out any](ctx context.Context, c *Client, key provider.UUID) (Handle[Out], error) {
	op := fmt.Sprintf("looking up %s", access.Target{Key: key})
	err := c.usable(ctx)
	if err == nil && key.IsZero() {
		err = fmt.Errorf("%w: the key is zero: give that of an instance", ErrInvalid)
	}
	if err != nil {
		return Handle[Out]{}, fmt.Errorf("%s: %w", op, err)
	}
	res, err := c.store.Instance(ctx, access.Target{Key: key}, op, false)
	if err != nil {
		return Handle[Out]{}, err
	}
	return Handle[Out]{c: c, t: access.Target{ID: res.Instance.ID, Key: key}}, nil
}

// HandleOf returns the handle of an instance whose key the caller has kept, without a call of the store. It reaches replaced
// instances, too. The ID is used in messages only.
func HandleOf[Out any](c *Client, id string, key provider.UUID) Handle[Out] {
	return Handle[Out]{c: c, t: access.Target{ID: id, Key: key}}
}

// ID returns the instance's ID.
func (h Handle[Out]) ID() string { return h.t.ID }

// Key returns the instance's key, which is never used again.
func (h Handle[Out]) Key() provider.UUID { return h.t.Key }

// Raise puts an event into the instance's mailbox of that name. It returns when the event is stored. The orchestration receives
// the events of one sender in the order in which they were raised. The payload is stored as JSON, at most 2 MiB.
//
// Errors: ErrInvalid, ErrTooLarge, ErrEnded, ErrNotFound, ErrInboxFull, ErrOutcomeUnknown, or the error of ctx.
func (h Handle[Out]) Raise(ctx context.Context, event string, payload any, opts ...RaiseOption) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.raise(ctx, h.t, event, payload, opts)
}

// Cancel requests that the orchestration stop in its own way: its context is cancelled and it may clean up. It returns when the
// request is stored; [Handle.Wait] returns the outcome. Repeated requests change nothing. The reason is for people, at most 4
// KiB, and may be empty. Errors are those of Raise.
func (h Handle[Out]) Cancel(ctx context.Context, reason string, opts ...CancelOption) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.cancel(ctx, h.t, reason, opts)
}

// Terminate ends the instance at once, without its code. Nothing is cleaned up: its activities and children are cancelled, and
// its waiting messages go to the dead letters. The reason is for people, at most 4 KiB, and may be empty. Errors are those of
// Raise.
func (h Handle[Out]) Terminate(ctx context.Context, reason string) error {
	if err := h.usable(ctx); err != nil {
		return err
	}
	return h.c.terminate(ctx, h.t, reason)
}

// Describe returns what is stored about the instance, pending activities included.
func (h Handle[Out]) Describe(ctx context.Context) (Description, error) {
	if err := h.usable(ctx); err != nil {
		return Description{}, err
	}
	return h.c.describe(ctx, h.t)
}

// Waits returns what the instance waits for, in words and as data, the most urgent first. It returns nothing for an instance that has ended.
// It reads no history. Which event the code waits for is known only to the code: ask it by the query "stack".
//
// Timers need a store with provider.Inspector, children one with provider.Lister; without them these are left out.
func (h Handle[Out]) Waits(ctx context.Context) ([]Wait, error) {
	if err := h.usable(ctx); err != nil {
		return nil, err
	}
	op := fmt.Sprintf("reading what %s waits for", h.t)
	res, err := h.c.store.Instance(ctx, h.t, op, true)
	if err != nil {
		return nil, err
	}
	d, err := h.c.described(ctx, op, &res)
	if err != nil {
		return nil, err
	}
	return h.c.waits(ctx, op, &d)
}

// History reads the events of an execution in order; 0 is the current one. It ends after
// the first error.
func (h Handle[Out]) History(ctx context.Context, execution int64) iter.Seq2[HistoryEvent, error] {
	if err := h.usable(ctx); err != nil {
		return func(yield func(HistoryEvent, error) bool) { yield(HistoryEvent{}, err) }
	}
	return h.c.history(ctx, h.t, execution)
}

// ExportHistory returns the stored history of an execution; 0 is the current one. See Client.ExportHistory.
func (h Handle[Out]) ExportHistory(ctx context.Context, execution int64) (HistoryFile, error) {
	if err := h.usable(ctx); err != nil {
		return HistoryFile{}, err
	}
	return h.c.exportHistory(ctx, h.t, execution)
}

var errNoInstance = errors.New("the handle is zero or its key is: take one from client.Start or client.Lookup")

// usable refuses a handle that was not made by this package.
func (h Handle[Out]) usable(ctx context.Context) error {
	if h.t.Key.IsZero() {
		return fmt.Errorf("using a handle of no instance: %w: %w", ErrInvalid, errNoInstance)
	}
	if err := h.c.usable(ctx); err != nil {
		return fmt.Errorf("using the handle of %s: %w", h.t, err)
	}
	return nil
}
