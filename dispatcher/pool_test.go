package dispatcher_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// gauge counts how many run at the same time.
type gauge struct {
	mu                 sync.Mutex
	now, most, started int
}

// and counts another activity.
func (g *gauge) and(work func(context.Context, int) (int, error)) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		g.add(1)
		defer g.add(-1)
		return work(ctx, n)
	}
}

// work is an activity that takes so long.
func (g *gauge) work(d time.Duration) func(context.Context, int) (int, error) {
	return g.and(func(ctx context.Context, n int) (int, error) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return n, ctx.Err()
	})
}

func (g *gauge) add(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now += n
	g.started += max(n, 0)
	g.most = max(g.most, g.now)
}

func (g *gauge) peak() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

// fan registers an orchestration that calls n times each of the named activities.
func fan(e *enginetest.Engine, reg *runtime.Registry, orchestrationName string, calls ...call) {
	e.T.Helper()
	enginetest.Orchestration(e.T, reg, orchestrationName, func(ctx *octx, n int) (int, error) {
		var all []orchestration.Future[int]
		for i := range n {
			for _, c := range calls {
				all = append(all, orchestration.StartActivityNamed[int](ctx, c.name, i, orchestration.WithQueue(c.queue)))
			}
		}
		for _, f := range all {
			if _, err := f.Get(ctx); err != nil {
				return 0, err
			}
		}
		return len(all), nil
	})
}

type call struct{ name, queue string }

const standard = orchestration.DefaultQueue

// An activity runs as often at the same time as its limit says, and its next task starts the moment that one ends.
// Waiting tasks are not leased, and delay no other activities and take no slots.
func TestMaxConcurrentBoundsAnActivity(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 8}, func(e *enginetest.Engine) {
		var slow, quick gauge
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "slow", slow.work(time.Second), runtime.MaxConcurrent(3))
		enginetest.Activity(e.T, reg, "quick", quick.work(time.Millisecond))
		fan(e, reg, "slow", call{"slow", standard})
		fan(e, reg, "quick", call{"quick", standard})
		rt := e.Start(reg)
		began := time.Now()
		key := e.Create("slow", "slow", 30)
		e.Until("three run", func() bool { return rt.Stats().AttemptsRunning == 3 })
		stats, err := e.Store.Stats(e.T.Context(), provider.StatsRequest{})
		if err != nil || stats.TaskLeases != 3 {
			e.T.Errorf("%d tasks are leased, %v", stats.TaskLeases, err)
		}
		asked := time.Now()
		if got := enginetest.Output[int](e, e.Create("quick", "quick", 100)); got != 100 {
			e.T.Errorf("got %d", got)
		}
		if took := time.Since(asked); took > 2*time.Second {
			e.T.Errorf("the others took %v", took)
		}
		if got := enginetest.Output[int](e, key); got != 30 {
			e.T.Errorf("got %d", got)
		}
		if took := time.Since(began); took > 10500*time.Millisecond {
			e.T.Errorf("ten rounds of a second took %v", took)
		}
		if slow.peak() != 3 || quick.peak() < 4 {
			e.T.Errorf("at most %d and %d at the same time", slow.peak(), quick.peak())
		}
		if s := rt.Stats(); s.LeasesLost != 0 || s.TasksFetched > 140 {
			e.T.Errorf("%+v", s)
		}
	})
}

// A pool bounds all its activities together, on any queue, and a limit of its own one of them.
func TestPoolIsShared(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Pools: map[string]int{"cpu": 4}}, func(e *enginetest.Engine) {
		var all, own, free gauge
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "hash", all.and(own.work(time.Second)), runtime.InPool("cpu"), runtime.MaxConcurrent(2))
		enginetest.Activity(e.T, reg, "scale", all.and((&gauge{}).work(time.Second)), runtime.InPool("cpu"), runtime.OnQueue("images"))
		enginetest.Activity(e.T, reg, "fetch", free.work(time.Second))
		fan(e, reg, "main", call{"hash", standard}, call{"scale", "images"}, call{"fetch", standard})
		e.Start(reg)
		began := time.Now()
		if got := enginetest.Output[int](e, e.Create("main", "main", 20)); got != 60 {
			e.T.Errorf("got %d", got)
		}
		// Ten seconds at best. When the other ones come first those with a limit of their own are left to the end, two at a time.
		if took := time.Since(began); took > 16*time.Second {
			e.T.Errorf("40 tasks of a second, 4 at the same time, took %v", took)
		}
		if all.peak() != 4 || own.peak() != 2 || free.peak() != 20 {
			e.T.Errorf("at most %d in the pool, %d of its one, %d beside it", all.peak(), own.peak(), free.peak())
		}
	})
}

// When all slots are in use, activities with different limits take turns: a flood of one does not starve the other.
func TestGroupsTakeTurns(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 2}, func(e *enginetest.Engine) {
		var many, few gauge
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "many", many.work(time.Second), runtime.MaxConcurrent(100))
		enginetest.Activity(e.T, reg, "more", many.work(time.Second), runtime.MaxConcurrent(100))
		enginetest.Activity(e.T, reg, "few", few.work(time.Second))
		fan(e, reg, "many", call{"many", standard}, call{"more", standard})
		fan(e, reg, "few", call{"few", standard})
		rt := e.Start(reg)
		flood := e.Create("many", "many", 500)
		e.Until("the flood has come", func() bool { return rt.Stats().AttemptsRunning == 2 })
		asked := time.Now()
		enginetest.Output[int](e, e.Create("few", "few", 3))
		if took := time.Since(asked); took > 20*time.Second {
			e.T.Errorf("3 tasks among 1,000 took %v", took)
		}
		enginetest.Output[int](e, flood)
	})
}

// Another node can take the tasks over a node's limit.
func TestLimitLeavesWorkToOtherNodes(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var gauges [2]gauge
		for i := range gauges {
			reg := runtime.NewRegistry()
			enginetest.Activity(e.T, reg, "slow", gauges[i].work(time.Minute), runtime.MaxConcurrent(2))
			if i == 0 {
				fan(e, reg, "main", call{"slow", standard})
			}
			e.Start(reg)
		}
		began := time.Now()
		enginetest.Output[int](e, e.Create("main", "main", 8))
		if took := time.Since(began); took > 121*time.Second {
			e.T.Errorf("took %v, want two rounds of a minute", took)
		}
		for i := range gauges {
			if gauges[i].peak() != 2 || gauges[i].started != 4 {
				e.T.Errorf("node %d: %d at the same time, %d in all", i, gauges[i].peak(), gauges[i].started)
			}
		}
	})
}

// While all pools are full a node fetches nothing. It hears at once of a free place. It stops when it is told to.
func TestAllPoolsFull(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Pools: map[string]int{"one": 1, "two": 1}}, func(e *enginetest.Engine) {
		var one, two gauge
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "one", one.work(time.Minute), runtime.InPool("one"))
		enginetest.Activity(e.T, reg, "two", two.work(90*time.Second), runtime.InPool("two"))
		fan(e, reg, "main", call{"one", standard}, call{"two", standard})
		rt := e.Start(reg)
		began := time.Now()
		enginetest.Output[int](e, e.Create("main", "main", 3))
		if took := time.Since(began); took < 270*time.Second || took > 271*time.Second {
			e.T.Errorf("three rounds of 90 seconds took %v", took)
		}
		e.Create("again", "main", 3)
		e.Until("both pools are full", func() bool { return rt.Stats().AttemptsRunning == 2 })
		stopping := time.Now()
		e.Stop(rt)
		if took := time.Since(stopping); took > 11*time.Second {
			e.T.Errorf("shutdown took %v", took)
		}
		e.Unchecked("activities are left over for other nodes")
	})
}

// A task with a limit takes no short cut past those that wait in the queue.
func TestHazard22_LimitedActivitiesTakeNoShortCut(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var limited, free gauge
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "limited", limited.work(time.Second), runtime.MaxConcurrent(1))
		enginetest.Activity(e.T, reg, "free", free.work(time.Second))
		fan(e, reg, "limited", call{"limited", standard})
		fan(e, reg, "free", call{"free", standard})
		rt := e.Start(reg)
		for i := range 5 {
			enginetest.Output[int](e, e.Create(fmt.Sprint("limited-", i), "limited", 2))
		}
		if s := rt.Stats(); s.TasksHandedOff != 0 || limited.peak() != 1 {
			e.T.Errorf("%d handed off, at most %d at the same time", s.TasksHandedOff, limited.peak())
		}
		enginetest.Output[int](e, e.Create("free", "free", 2))
		if s := rt.Stats(); s.TasksHandedOff == 0 {
			e.T.Error("no task was handed off, which proves nothing")
		}
	})
}
