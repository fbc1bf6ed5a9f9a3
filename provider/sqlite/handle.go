package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A handle is what the calls of one opening of a file share. Each part of a Provider has it.
type handle struct {
	store    *store
	readOnly bool
	door     relational.Door
}

// read runs fn on a reading connection for the method op.
func (h *handle) read(ctx context.Context, op string, fn func(*conn) error) error {
	return h.reading(ctx, op, fn, h.store.readers.with)
}

// readSnapshot is read with one snapshot for all of fn's statements.
func (h *handle) readSnapshot(ctx context.Context, op string, fn func(*conn) error) error {
	return h.reading(ctx, op, fn, h.store.readers.snapshot)
}

func (h *handle) reading(ctx context.Context, op string, fn func(*conn) error,
	lend func(context.Context, func(*conn) error) error,
) error {
	if err := h.door.Enter(ctx); err != nil {
		return err
	}
	defer h.door.Leave()
	if h.store.readOnly { // otherwise the writer checks
		h.store.checkPaths()
	}
	if err := h.store.pathError(); err != nil {
		return failed(op, err, provider.OutcomeNothing)
	}
	return failed(op, lend(ctx, fn), provider.OutcomeNothing)
}

// write runs fn in the writer's next group and waits for its commit.
func write[T any](ctx context.Context, h *handle, op string, bytes int, fn func(*tx, *T) error) (T, error) {
	m := &relational.Member{Op: op, Bytes: bytes}
	return relational.Do(ctx, h.enqueue, m, false, func(_ *relational.Tx, out *T) error { return fn(h.store.writer.tx, out) })
}

func (h *handle) enqueue(ctx context.Context, m *relational.Member, urgent bool) error {
	if h.readOnly {
		return refused(m.Op)
	}
	if err := provider.CheckPast(ctx); err != nil {
		return fmt.Errorf("%s: %w", m.Op, err)
	}
	if err := h.door.Enter(ctx); err != nil {
		return err
	}
	defer h.door.Leave()
	return h.store.writer.await(ctx, h.door.Closing, m, urgent)
}
