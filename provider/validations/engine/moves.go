package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

type (
	octx = orchestration.Context
	none = orchestration.None
)

// addOrchestration registers a closure.
func addOrchestration[In, Out any](t *trial, reg *runtime.Registry, name string, fn func(*octx, In) (Out, error)) {
	t.ok(runtime.AddOrchestration(reg, orchestration.Define(name, fn)))
}

// addActivity registers a closure, whose attempts are counted.
func addActivity[In, Out any](
	t *trial, reg *runtime.Registry, name string, fn func(context.Context, In) (Out, error), opts ...runtime.RegisterOption,
) {
	counted := func(ctx context.Context, in In) (Out, error) {
		t.mu.Lock()
		t.attempts[attempt{activity.IdempotencyKey(ctx), name, activity.GetInfo(ctx).Attempt}]++
		t.mu.Unlock()
		return fn(ctx, in)
	}
	t.ok(runtime.AddActivity(reg, activity.Define(name, counted), opts...))
}

// addSum registers the activity that most scenarios use: "add" adds 1.
func addSum(t *trial, reg *runtime.Registry) {
	addActivity(t, reg, "add", func(_ context.Context, n int) (int, error) { return n + 1, nil })
}

func add(ctx *octx, n int) (int, error) { return orchestration.CallActivityNamed[int](ctx, "add", n) }

// node starts a node on the store. The client starts instances through it.
func (t *trial) node(reg *runtime.Registry) {
	c, err := t.nodeOn(t.store, reg, t.opts).Client(client.Options{})
	t.ok(err)
	t.client = c
}

// nodeOn starts a node on a view of the store.
func (t *trial) nodeOn(store provider.Provider, reg *runtime.Registry, opts runtime.Options) *runtime.Runtime {
	opts.Logger = slog.New(slog.DiscardHandler)
	opts.DeadlockLimit = runtime.Off // the machine may be slow
	rt, err := runtime.Start(fastpath.Without(t.ctx, t.off), store, reg, opts)
	t.ok(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes = append(t.nodes, rt)
	return rt
}

// start starts an instance.
func start[Out any](t *trial, name string, in any, opts ...client.StartOption) client.Handle[Out] {
	h, err := client.StartNamed[Out](t.ctx, t.client, name, in, opts...)
	t.ok(err)
	return h
}

func (t *trial) raise(id, event string, payload any, opts ...client.RaiseOption) {
	t.ok(t.client.Raise(t.ctx, id, event, payload, opts...))
}

// output waits for an instance to complete. One that is blocked fails the scenario at once.
func output[Out any](t *trial, h client.Handle[Out]) Out {
	out, err := h.Wait(t.ctx, client.OrBlocked())
	t.ok(err)
	return out
}

// completes checks an instance's output.
func completes[Out comparable](t *trial, h client.Handle[Out], want Out) {
	if got := output(t, h); got != want {
		t.errorf("the output of %q is %v, want %v", h.ID(), got, want)
	}
}

// ends waits for an instance to end without output, and checks its status and the cause.
func ends[Out any](t *trial, h client.Handle[Out], status client.Status, cause error) {
	_, err := h.Wait(t.ctx, client.OrBlocked())
	if errors.Is(err, client.ErrBlocked) {
		t.fatalf("%v", err)
	}
	t.want(err, client.ErrFailed)
	t.want(err, cause)
	d := describe(t, h)
	t.checkf(d.Status == status, "%q is %s, want %s", d.ID, d.Status, status)
	t.checkf(len(d.Activities) == 0, "%q is %s and has left activities behind: %+v", d.ID, d.Status, d.Activities)
}

func describe[Out any](t *trial, h client.Handle[Out]) client.Description {
	d, err := h.Describe(t.ctx)
	t.ok(err)
	return d
}

// events reads a history and checks that its events are 1, 2, ... n.
func events[Out any](t *trial, h client.Handle[Out], execution int64) (list []client.HistoryEvent) {
	for e, err := range h.History(t.ctx, execution) {
		t.ok(err)
		list = append(list, e)
		t.checkf(e.ID == int64(len(list)), "event %d of %q stands at place %d of execution %d", e.ID, h.ID(), len(list), execution)
	}
	return list
}

// unlike returns an error if err is not want.
func unlike(what string, err, want error) error {
	switch {
	case errors.Is(err, want):
		return nil
	case err == nil:
		return fmt.Errorf("%s: got no error, want %w", what, want)
	default:
		return fmt.Errorf("%s: got %w, want %s", what, err, want.Error())
	}
}

// lookup finds an instance by its ID.
func lookup[Out any](t *trial, id string) client.Handle[Out] {
	h, err := client.Lookup[Out](t.ctx, t.client, id)
	t.ok(err)
	return h
}
