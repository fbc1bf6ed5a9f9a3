package orchestrationtest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// Calls that wait within a time limit of their own return then.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, sleepsAYear, 1)
		_, mark, err := h.Follow(e.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first turn may come between
			began := time.Now()
			if _, mark, err = h.Follow(e.Context(), mark, client.FollowFor(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v, want a minute at most", took)
			}
		}
	})
}

// What is registered after the first instance is there at once, also if the registry had it before any node did.
func TestLateStartsTakeNoTime(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		orchestrationtest.AddActivity(e, Hello)
		first := orchestrationtest.Start(e, Greet, "Ann")
		if err := runtime.AddOrchestration(e.Registry(), sleepsAYear); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Wait(e.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := orchestrationtest.Start(e, sleepsAYear, 1).Wait(e.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != year {
			t.Errorf("it took %v, want %v", took, year)
		}
	})
}

// With the timers of production, too, what is registered late takes the place of what runs without a wait.
func TestLateStartsTakeNoTimeWithTimers(t *testing.T) {
	t.Parallel()
	orchestrationtest.RunWithTimers(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		orchestrationtest.Replace(e, Hello, nil)
		for range 2 {
			if _, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context()); err != nil {
				t.Fatal(err)
			}
			orchestrationtest.Replace(e, Hello, nil)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v, want no wait", took)
		}
	})
}

// Register adds code before and after the first node has started.
func TestRegister(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(func(reg *runtime.Registry) error { return runtime.AddActivity(reg, Hello) })
		if got, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context()); got != "Hello, Ann!" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		second := orchestration.Define("second", Greet)
		e.Register(func(reg *runtime.Registry) error { return runtime.AddOrchestration(reg, second) })
		h, err := client.StartNamed[string](e.Context(), e.Client(), "second", "Ben")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Wait(e.Context()); got != "Hello, Ben!" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// creates counts the calls that create an instance.
type creates struct{ n atomic.Int64 }

// Observe implements observe.Observer.
func (c *creates) Observe(e observe.Event) {
	if e.Kind == observe.Storage && e.Name == "create" {
		c.n.Add(1)
	}
}

// A test may end with a call that a client tells its Observer.
func TestObserverIsToldTheLastCall(t *testing.T) {
	t.Parallel()
	var told creates
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Start(e, sleepsAYear, 1)
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Observer = &told }))
	if told.n.Load() == 0 {
		t.Error("the Observer was not told of the start")
	}
}

// An instance that is deleted before its last turn has run again is no failure.
func TestDeletedBeforeItsSecondRun(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, Hello, nil)
		h := orchestrationtest.Start(e, Greet, "Ann")
		if _, err := h.Wait(e.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Delete(e.Context()); err != nil {
			t.Fatal(err)
		}
		orchestrationtest.RepeatTurn(e, h, 4)
	})
}

// A node whose place another one has taken does nothing but what it has begun, and then ends. One that the test has drained stays.
func TestNodesEnd(t *testing.T) {
	t.Parallel()
	told := 0
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		const week = 7 * 24 * time.Hour
		orchestrationtest.Replace(e, Hello, nil, orchestrationtest.Delay(week))
		h := orchestrationtest.Start(e, Greet, "Ann")
		e.Sleep(time.Hour)
		orchestrationtest.AddActivity(e, hangs) // another node takes the place of the first one
		before := orchestrationtest.StoreCalls(e)
		if _, err := h.Wait(e.Context()); err != nil {
			t.Fatal(err)
		}
		if n := orchestrationtest.StoreCalls(e) - before; n > 500 {
			t.Errorf("%d calls of the store in a week of waiting", n)
		}
		e.Sleep(0)
		o := operate.New(e.Client())
		nodes, err := o.Nodes(e.Context())
		if err != nil || len(nodes) != 1 {
			t.Fatalf("%d nodes, %v, want the one that takes work", len(nodes), err)
		}
		if _, err := o.DrainNode(e.Context(), nodes[0].Owner, "test"); err != nil {
			t.Fatal(err)
		}
		e.Sleep(0)
		if nodes, err = o.Nodes(e.Context()); err != nil || len(nodes) != 1 || nodes[0].State != operate.NodeDrained {
			t.Errorf("%+v, %v, want a drained node", nodes, err)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.OnDrained = func() { told++ } }))
	if told != 1 {
		t.Errorf("the test was told of %d drained nodes, want that which it has drained", told)
	}
}
