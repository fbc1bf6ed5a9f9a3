package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/metrics/prometheus"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Node is the measuring process: a client of a store and, unless other processes do the work, a runtime on it.
type Node struct {
	Store  *provider.Full
	Client *client.Client

	runtime *runtime.Runtime
}

// NewClient returns a node without a runtime.
func NewClient(store provider.Provider, logger *slog.Logger) (*Node, error) {
	c, err := client.New(store, client.Options{Logger: logger})
	if err != nil {
		return nil, err
	}
	return &Node{Store: provider.FullOf(store), Client: c}, nil
}

// offVariable names the fast paths that a node does without, such as "eager,sticky" or "all". It is for measuring what they save.
const offVariable = "PERDURE_BENCH_OFF"

// observeVariable gives a node an observer: "metrics". It is for measuring what that costs, in turns with runs without it:
//
//	perdure-bench w1; PERDURE_BENCH_OBSERVE=metrics perdure-bench w1
const observeVariable = "PERDURE_BENCH_OBSERVE"

// observer returns the observer that the environment asks for; nil: none.
func observer(logger *slog.Logger) (observe.Observer, error) {
	switch of := os.Getenv(observeVariable); of {
	case "":
		return nil, nil //nolint:nilnil // none is what was asked for
	case "metrics":
		logger.Warn("the node has an observer", "observer", of)
		return prometheus.New(prometheus.Options{Logger: logger}), nil
	default:
		return nil, fmt.Errorf("reading %s: no observer %q: give metrics, or nothing", observeVariable, of)
	}
}

// NewNode returns a node with a runtime.
func NewNode(ctx context.Context, store provider.Provider, logger *slog.Logger) (*Node, error) {
	off, err := fastpath.Parse(os.Getenv(offVariable))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", offVariable, err)
	}
	if off != 0 {
		logger.Warn("the node does without some of its fast paths", "off", off)
		ctx = fastpath.Without(ctx, off)
	}
	reg := runtime.NewRegistry()
	if err := Register(reg); err != nil { //nolint:contextcheck // registering needs no context
		return nil, err
	}
	watch, err := observer(logger)
	if err != nil {
		return nil, err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{Logger: logger, Observer: watch})
	if err != nil {
		return nil, err
	}
	c, err := rt.Client(client.Options{Logger: logger})
	if err != nil {
		return nil, errors.Join(err, rt.Shutdown(ctx))
	}
	return &Node{Store: provider.FullOf(store), Client: c, runtime: rt}, nil
}

// Stats returns what the runtime has counted.
func (n *Node) Stats() runtime.Stats { return n.runtime.Stats() }

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
