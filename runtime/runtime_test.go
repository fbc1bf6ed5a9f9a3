package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func registry(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Twice), runtime.AddActivity(reg, Double)); err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	cases := map[string]runtime.Options{
		"MaxConcurrentTurns":      {MaxConcurrentTurns: runtime.Off},
		"MaxConcurrentActivities": {MaxConcurrentActivities: -2},
		"Cache.Executions":        {Cache: runtime.CacheOptions{Executions: -2}},
		"Cache.Bytes":             {Cache: runtime.CacheOptions{Bytes: runtime.Off}},
		"PoisonLimit":             {PoisonLimit: -1},
		"Lease":                   {Lease: 100 * time.Millisecond},
		"Leaks.GracePeriod":       {Leaks: runtime.LeakOptions{GracePeriod: -time.Second}},
		"Shutdown.DrainTimeout":   {Shutdown: runtime.ShutdownOptions{DrainTimeout: -time.Second}},
		"DeadlockLimit":           {DeadlockLimit: -time.Second},
	}
	for name, opts := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt, err := runtime.Start(t.Context(), memory.New(memory.Options{}), registry(t), opts)
			if rt != nil || err == nil || !strings.Contains(err.Error(), "option "+name+" is") {
				t.Errorf("returned %v", err)
			}
		})
	}
}

// A store that fails for a moment, as against one that takes no writes, is no reason not to start.
func TestStartOutlivesAFault(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		plan := faulty.NewPlan(1)
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.ReleaseTurns}, Kind: faulty.Before, First: 1})
		e.StartOn(faulty.Wrap(e.Store, plan), registry(e.T), e.Options)
		if got := enginetest.Output[int](e, e.Create("a", "Twice", 7)); got != 14 || plan.Injected(faulty.ReleaseTurns) != 1 {
			e.T.Errorf("got %d after %d faults", got, plan.Injected(faulty.ReleaseTurns))
		}
	})
}

// Off disables what can be disabled.
func TestOptionsOff(t *testing.T) {
	t.Parallel()
	off := runtime.Options{
		DeadlockLimit: runtime.Off, Cache: runtime.CacheOptions{Executions: runtime.Off},
		Leaks: runtime.LeakOptions{GracePeriod: runtime.Off}, Shutdown: runtime.ShutdownOptions{DrainTimeout: runtime.Off},
	}
	enginetest.Bubble(t, off, func(e *enginetest.Engine) {
		rt := e.Start(registry(e.T))
		if got := enginetest.Output[int](e, e.Create("a", "Twice", 7)); got != 14 {
			e.T.Errorf("got %d", got)
		}
		if s := rt.Stats(); s.Cached != 0 || s.CachedBytes != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

func TestStartRefusesWhatCannotRun(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	closed := memory.New(memory.Options{})
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	plan := faulty.NewPlan(1)
	plan.StartOutage()
	finished, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		ctx   context.Context
		store provider.Provider
		reg   *runtime.Registry
		want  error
	}{
		"no store":       {t.Context(), nil, registry(t), nil},
		"no registry":    {t.Context(), store, nil, nil},
		"empty registry": {t.Context(), store, runtime.NewRegistry(), nil},
		"closed store":   {t.Context(), closed, registry(t), provider.ErrClosed},
		"store away":     {t.Context(), faulty.Wrap(store, plan), registry(t), faulty.ErrInjected},
		"finished ctx":   {finished, store, registry(t), context.Canceled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt, err := runtime.Start(c.ctx, c.store, c.reg, runtime.Options{})
			if rt != nil || err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("returned %v", err)
			}
		})
	}
}

// The context of Start bounds starting only.
func TestContextOfStartBoundsStartingOnly(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		ctx, cancel := context.WithCancel(e.T.Context())
		rt, err := runtime.Start(ctx, e.Store, registry(e.T), runtime.Options{Name: "node"})
		cancel()
		if err != nil {
			e.T.Fatal(err)
		}
		defer e.Stop(rt)
		if !strings.HasPrefix(rt.Owner(), "node-") {
			e.T.Errorf("owner %q", rt.Owner())
		}
		if got := enginetest.Output[int](e, e.Create("a", "Twice", 7)); got != 14 {
			e.T.Errorf("got %d", got)
		}
	})
}

// Several nodes on one store share the work and finish it, each instance once.
func TestNodesShareAStore(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		var nodes []*runtime.Runtime
		for range 3 {
			nodes = append(nodes, e.Start(registry(e.T)))
		}
		owners := map[string]bool{}
		var keys []provider.UUID
		for i := range 30 {
			keys = append(keys, e.Create(strings.Repeat("i", i+1), "Twice", i))
		}
		for i, key := range keys {
			if got := enginetest.Output[int](e, key); got != 2*i {
				e.T.Errorf("instance %d returned %d", i, got)
			}
		}
		var runs int64
		for _, rt := range nodes {
			owners[rt.Owner()] = true
			runs += rt.Stats().AttemptsCompleted
		}
		if len(owners) != 3 || runs != 30 {
			e.T.Errorf("%d owners, %d attempts", len(owners), runs)
		}
	})
}

// Health says what is wrong, and that the store does not respond.
func TestHealth(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		plan := faulty.NewPlan(1)
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "broken", func(*octx, none) (none, error) { panic("x") })
		rt := e.StartOn(faulty.Wrap(e.Store, plan), reg, e.Options)
		e.WaitBlocked(e.Create("b", "broken", none{}), 1)
		h, err := rt.Health(e.T.Context())
		if err != nil || h.Blocked != 1 || h.DeadLetters != 0 || len(h.Unserved) != 0 {
			e.T.Errorf("%+v, %v", h, err)
		}
		plan.StartOutage()
		if _, err := rt.Health(e.T.Context()); !errors.Is(err, faulty.ErrInjected) {
			e.T.Errorf("returned %v", err)
		}
		plan.EndOutage()
	})
}
