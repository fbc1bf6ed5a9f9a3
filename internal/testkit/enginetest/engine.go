package enginetest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Engine is a store and the test's tools for it.
type Engine struct {
	T       testing.TB
	Store   *provider.Full
	Options runtime.Options // of nodes that Start starts
	Off     fastpath.Set    // fast paths that nodes do without
	Virtual bool            // in a synctest bubble: hours cost nothing

	unchecked string           // why the store is not checked at the end of the test
	node      *runtime.Runtime // the last one started on Store itself; nil: none
}

// Memory makes an engine on a new store in memory.
func Memory(t testing.TB, opts runtime.Options) *Engine {
	t.Helper()
	return On(t, memory.New(memory.Options{}), opts)
}

// On makes an engine on a store. At the end of the test the engine stops the nodes, then checks and closes the store.
func On(t testing.TB, store provider.Provider, opts runtime.Options) *Engine {
	t.Helper()
	e := &Engine{T: t, Store: provider.FullOf(store), Options: opts}
	t.Cleanup(func() {
		e.check(provider.FullOf(store))
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return e
}

// Start starts a node with the engine's options. The node stops at the end of the test.
func (e *Engine) Start(reg *runtime.Registry) *runtime.Runtime {
	e.T.Helper()
	return e.StartOn(e.Store, reg, e.Options)
}

// StartOn starts a node on a store that decorates the engine's, with options of its own.
func (e *Engine) StartOn(store provider.Provider, reg *runtime.Registry, opts runtime.Options) *runtime.Runtime {
	e.T.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.DeadlockLimit == 0 && !e.Virtual { // the default counts code that a busy machine does not run as stuck
		opts.DeadlockLimit = 20 * time.Second
	}
	rt, err := runtime.Start(fastpath.Without(e.T.Context(), e.Off), store, reg, opts)
	if err != nil {
		e.T.Fatalf("starting a node: %v", err)
	}
	e.T.Cleanup(func() { e.Stop(rt) })
	if store == e.Store {
		e.node = rt
	}
	return rt
}

// Client returns a client of the store. It starts instances through the last node that Start has started, if there is
// one.
func (e *Engine) Client(opts client.Options) *client.Client {
	e.T.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if e.node != nil {
		opts.Node = e.node.Node()
	}
	return clienttest.New(e.T, e.Store, opts)
}

// Stop shuts a node down and fails the test if the node leaks something.
func (e *Engine) Stop(rt *runtime.Runtime) {
	e.T.Helper()
	// The test's own context has ended when its cleanups run.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.T.Context()), time.Minute)
	defer cancel()
	if err := rt.Shutdown(ctx); err != nil {
		e.T.Errorf("shutting a node down: %v", err)
	}
}

// NewID makes a key, token or commit ID.
func NewID() provider.UUID { return provider.UUID(uuid.Must(uuid.NewV7())) }

// limit returns how long a test waits.
func (e *Engine) limit() time.Duration {
	if e.Virtual {
		return 10 * 24 * time.Hour
	}
	return 2 * time.Minute
}
