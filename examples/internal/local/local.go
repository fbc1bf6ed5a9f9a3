// Package local runs the examples in one process, on a store in memory.
package local

import (
	"context"
	"log"
	"log/slog"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Start starts a node with the functions that add registers. The caller must call stop.
func Start(add func(*runtime.Registry)) (c *client.Client, stop func()) {
	return StartWith(runtime.Options{}, add)
}

// StartWith is like Start, with options for the node.
func StartWith(opts runtime.Options, add func(*runtime.Registry)) (c *client.Client, stop func()) {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	reg := runtime.NewRegistry()
	add(reg)
	opts.Logger = slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(ctx, store, reg, opts)
	if err != nil {
		log.Panic(err)
	}
	c, err = rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	return c, func() {
		if err := rt.Shutdown(ctx); err != nil {
			log.Panic(err)
		}
		if stats, err := store.Stats(ctx, provider.StatsRequest{}); err != nil || stats.TurnLeases+stats.TaskLeases > 0 {
			log.Panicf("work is still leased after shutdown: %+v, %v", stats, err)
		}
		if err := store.Close(); err != nil {
			log.Panic(err)
		}
	}
}
