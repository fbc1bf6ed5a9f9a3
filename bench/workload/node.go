package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Node is the measuring process: a client of a store and, unless other processes do the work, a runtime on it.
type Node struct {
	Store  provider.Provider
	Client *client.Client

	runtime *runtime.Runtime
}

// NewClient returns a node without a runtime.
func NewClient(store provider.Provider, logger *slog.Logger) (*Node, error) {
	c, err := client.New(store, client.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	return &Node{Store: store, Client: c}, nil
}

// NewNode returns a node with a runtime.
func NewNode(ctx context.Context, store provider.Provider, logger *slog.Logger) (*Node, error) {
	reg := runtime.NewRegistry()
	if err := Register(reg); err != nil { //nolint:contextcheck // registering needs no context
		return nil, err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	c, err := rt.Client(client.Options{Logger: logger})
	if err != nil {
		return nil, errors.Join(err, rt.Shutdown(ctx))
	}
	return &Node{Store: store, Client: c, runtime: rt}, nil
}

// Close shuts down the runtime. The store stays open.
func (n *Node) Close(ctx context.Context) error {
	if n.runtime == nil {
		return nil
	}
	return n.runtime.Shutdown(ctx)
}

// finish waits for the outcome of an instance.
func finish[Out any](ctx context.Context, h client.Handle[Out]) (Out, error) {
	out, err := h.Wait(ctx, client.OrBlocked())
	if err != nil {
		return out, fmt.Errorf("waiting for an orchestration: %w", err)
	}
	return out, nil
}
