package orchestrationtest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// The code of two releases: the second one has a patch.
var oldRenewal, newRenewal = renewal(false), renewal(true)

// renewal waits for a day, and with the patch for two.
func renewal(patched bool) func(*orchestration.Context, int) (string, error) {
	return orchestration.Define("renewal", func(ctx *orchestration.Context, _ int) (string, error) {
		if patched && ctx.Patched("longer") {
			return "new", ctx.Sleep(48 * time.Hour)
		}
		return "old", ctx.Sleep(24 * time.Hour)
	})
}

// A new release goes on with what the one before has begun, and starts what is new in its own way.
func TestDeploy(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		h := orchestrationtest.Start(e, oldRenewal, 1)
		e.Sleep(time.Hour)
		e.Deploy(func(reg *runtime.Registry) error { return runtime.AddOrchestration(reg, newRenewal) })
		e.Node().Stop()
		next := orchestrationtest.Start(e, newRenewal, 1)
		if got, err := h.Wait(e.Context()); got != "old" || err != nil || time.Since(began) != 24*time.Hour {
			t.Errorf("%q, %v after %v", got, err, time.Since(began))
		}
		if got, err := next.Wait(e.Context()); got != "new" || err != nil || time.Since(began) != 49*time.Hour {
			t.Errorf("%q, %v after %v", got, err, time.Since(began))
		}
	})
}

// Both releases run until the first one is stopped. Each has code that the other lacks, and both have what is replaced.
func TestDeploy_SideBySide(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		far := activity.Define("far", func(ctx context.Context, _ int) (string, error) { return activity.GetInfo(ctx).Node, nil })
		near := activity.Define("near", func(context.Context, int) (string, error) { return "", errReal })
		orchestrationtest.Replace(e, near, func(context.Context, int) (string, error) { return "near", nil })
		code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (string, error) {
			a, err := orchestration.CallActivity(ctx, near, 1)
			if err != nil {
				return "", err
			}
			b, err := orchestration.CallActivityNamed[string](ctx, "far", 1, orchestration.WithQueue("new"))
			return a + " " + b, err
		})
		orchestrationtest.AddOrchestration(e, code)
		e.Deploy(func(reg *runtime.Registry) error {
			return errors.Join(runtime.AddOrchestration(reg, code), runtime.AddActivity(reg, far, runtime.OnQueue("new")))
		})
		first, err := orchestrationtest.Start(e, code, 1).Wait(e.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := operate.New(e.Client())
		nodes, err := o.Nodes(e.Context())
		if err != nil || len(nodes) != 2 {
			t.Fatalf("%d nodes, %v, want 2", len(nodes), err)
		}
		e.Node().Stop()
		second, err := orchestrationtest.Start(e, code, 1).Wait(e.Context())
		if err != nil || second != first {
			t.Errorf("%q, %v, want %q", second, err, first)
		}
		if nodes, err = o.Nodes(e.Context()); err != nil || len(nodes) != 1 || "near "+nodes[0].Owner != first {
			t.Errorf("%d nodes, %v, want the second one, on which the activity ran: %q", len(nodes), err, first)
		}
	})
}

// A turn is run again with the code of the node that stored it.
func TestDeploy_OwnCode(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, oldRenewal)
		e.Deploy(func(reg *runtime.Registry) error { return runtime.AddActivity(reg, Hello, runtime.OnQueue("new")) })
		if got, err := orchestrationtest.Start(e, oldRenewal, 1).Wait(e.Context()); got != "old" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// Several nodes of one release run, restart together, and get what is registered later.
func TestDeploy_SameCode(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		const count = 20
		calls := orchestrationtest.Replace(e, Hello, nil, orchestrationtest.Delay(time.Hour), orchestrationtest.Times(2*count))
		e.Deploy(nil)
		e.Deploy(nil).Stop()
		for range 2 {
			for range count {
				orchestrationtest.Start(e, Greet, "Ann")
			}
			e.Sleep(2 * time.Hour)
			e.Restart()
		}
		orchestrationtest.AddActivity(e, hangs)
		e.Sleep(0)
		if nodes, err := operate.New(e.Client()).Nodes(e.Context()); err != nil || len(nodes) != 2 {
			t.Errorf("%d nodes, %v, want 2", len(nodes), err)
		}
		for _, c := range calls.Calls() {
			if c.Err != nil {
				t.Error(c.Err)
			}
		}
	})
}

// A release may be deployed before anything else is registered.
func TestDeploy_First(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		old := e.Deploy(func(reg *runtime.Registry) error { return runtime.AddOrchestration(reg, oldRenewal) })
		h := orchestrationtest.Start(e, oldRenewal, 1)
		e.Sleep(time.Hour)
		e.Deploy(func(reg *runtime.Registry) error { return runtime.AddOrchestration(reg, newRenewal) })
		old.Stop()
		if got, err := h.Wait(e.Context()); got != "old" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// The second run of a turn ends with that turn, although another release has stored the next one.
func TestDeploy_NextTurnOfOtherCode(t *testing.T) {
	t.Parallel()
	longer := func(patched bool) func(*orchestration.Context, int) (string, error) {
		return orchestration.Define("longer", func(ctx *orchestration.Context, _ int) (string, error) {
			if err := ctx.Sleep(24 * time.Hour); err != nil {
				return "", err
			}
			if patched && ctx.Patched("longer") {
				return "new", ctx.Sleep(24 * time.Hour)
			}
			return "old", nil
		})
	}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, longer(false), 1)
		e.Sleep(time.Hour)
		repeat := orchestrationtest.Repeater(e)
		e.Deploy(func(reg *runtime.Registry) error { return runtime.AddOrchestration(reg, longer(true)) })
		e.Node().Stop()
		if got, err := h.Wait(e.Context()); got != "new" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		repeat(h, 2)
	})
}

// starting is a store that tells when a node starts.
type starting struct {
	provider.Provider

	starts func()
}

func (s *starting) Unwrap() provider.Provider { return s.Provider }

// ReleaseTurns implements provider.Provider. A node that starts calls it before it takes work.
func (s *starting) ReleaseTurns(ctx context.Context, req provider.ReleaseTurnsRequest) (provider.ReleaseTurnsResult, error) {
	if s.starts != nil {
		s.starts()
	}
	return s.Provider.ReleaseTurns(ctx, req)
}

// What only a new release has counts as registered before its node takes work.
func TestDeploy_RegistersFirst(t *testing.T) {
	t.Parallel()
	store := &starting{Provider: memory.New(memory.Options{})}
	orchestrationtest.RunRealTime(t, store, func(e *orchestrationtest.Env) {
		var known atomic.Bool
		store.starts = func() {
			if orchestrationtest.Serves(e, "far") {
				known.Store(true)
			}
		}
		e.Deploy(func(reg *runtime.Registry) error {
			return runtime.AddActivity(reg, activity.Define("far", func(context.Context, int) (int, error) { return 0, nil }))
		})
		if !known.Load() {
			t.Error("the node starts, and its activity does not count as registered")
		}
	})
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// Goroutines may deploy and take the first node at once. A run of the race detector sees no race.
func TestDeploy_AtOnce(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, Hello)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { e.Deploy(nil) })
			all.Go(func() {
				for range 100 {
					e.Node()
				}
			})
		}
		all.Wait()
		if n := orchestrationtest.Running(e); n != 5 {
			t.Errorf("%d nodes, want 5", n)
		}
	})
}
