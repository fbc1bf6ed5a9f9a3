package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Backlog is a number of W1 orchestrations that wait in a store for a node.
type Backlog struct {
	store   provider.Provider
	handles []client.Handle[int]
}

// NewBacklog stores n orchestrations.
func NewBacklog(ctx context.Context, store provider.Provider, n int) (*Backlog, error) {
	starter, err := NewClient(store, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	b := &Backlog{store: store, handles: make([]client.Handle[int], n)}
	err = together(ctx, 0, n, func(ctx context.Context, i int) (err error) {
		if b.handles[i], err = client.Start(ctx, starter.Client, Chain, Load{N: links}); err != nil {
			return fmt.Errorf("starting an orchestration: %w", err)
		}
		return nil
	})
	return b, err
}

// Run starts a node, which runs the backlog to its end, and returns what the node has counted.
func (b *Backlog) Run(ctx context.Context) (stats runtime.Stats, err error) {
	n, err := NewNode(ctx, b.store, slog.New(slog.DiscardHandler))
	if err != nil {
		return stats, err
	}
	defer func() { err = errors.Join(err, n.Close(context.WithoutCancel(ctx))) }()
	all, waits := errgroup.WithContext(ctx)
	for _, h := range b.handles {
		all.Go(func() error {
			_, err := finish(waits, h)
			return err
		})
	}
	err = all.Wait()
	return n.Stats(), err
}
