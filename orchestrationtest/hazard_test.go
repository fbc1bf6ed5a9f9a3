package orchestrationtest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// A node without timers of its own obeys orders at once, and counts as alive however long it has had nothing to do.
func TestHazard143_OrdersAreObeyed(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		o := operate.New(e.Client())
		calls := orchestrationtest.Replace(e, Hello, nil)
		second := orchestration.Define("greeting", Greet, orchestration.Version("2"))
		orchestrationtest.AddOrchestration(e, second)
		orchestrationtest.AddOrchestration(e, sleepsAYear)
		if _, err := orchestrationtest.Start(e, sleepsAYear, 1).Wait(e.Context()); err != nil {
			t.Fatal(err)
		}
		nodes, err := o.Nodes(e.Context())
		if err != nil || len(nodes) != 1 {
			t.Fatalf("%d nodes, %v, want the one that runs", len(nodes), err)
		}
		if _, err := o.PauseQueue(e.Context(), orchestration.DefaultQueue, "test"); err != nil {
			t.Fatal(err)
		}
		h, err := client.StartNamed[string](e.Context(), e.Client(), "greeting", "Ann")
		if err != nil {
			t.Fatal(err)
		}
		e.After(time.Hour, func() error {
			if n := len(calls.Calls()); n != 0 {
				t.Errorf("%d calls of a paused queue", n)
			}
			_, err := o.ResumeQueue(e.Context(), orchestration.DefaultQueue, "test")
			return err
		})
		if _, err := h.Wait(e.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began) - year; took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("it took %v after a year, want an hour", took)
		}
		if d, err := h.Describe(e.Context()); err != nil || d.CodeVersion != "2" {
			t.Errorf("version %q, %v, want the newest", d.CodeVersion, err)
		}
	})
}

// The second run of a turn begins when the first is stored, and does not repeat side effects.
func TestHazard145_SecondRunComesAfter(t *testing.T) {
	t.Parallel()
	var running, effects, runs atomic.Int64
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		code := orchestration.Define("code", func(ctx *orchestration.Context, _ int) (int64, error) {
			runs.Add(1)
			for range 50 {
				if running.Add(1) != 1 {
					t.Error("two runs at once")
				}
				time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time
				running.Add(-1)
				if err := ctx.Sleep(time.Millisecond); err != nil {
					return 0, err
				}
			}
			return orchestration.SideEffect(ctx, func() (int64, error) { return effects.Add(1), nil })
		})
		if n, err := orchestrationtest.Start(e, code, 1).Wait(e.Context()); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
	if effects.Load() != 1 || runs.Load() < 50 {
		t.Errorf("%d side effects in %d runs, want 1 in more than 50", effects.Load(), runs.Load())
	}
}

// Calls that run at the same time are all there, and a run of the race detector sees no race.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		calls := orchestrationtest.Replace(e, Hello, func(_ context.Context, name string) (string, error) {
			return name, nil
		}, orchestrationtest.Delay(time.Second), orchestrationtest.Times(20))
		all := orchestration.Define("all", func(ctx *orchestration.Context, n int) (int, error) {
			futures := make([]orchestration.Future[string], n)
			for i := range futures {
				futures[i] = orchestration.StartActivity(ctx, Hello, "Ann")
			}
			for _, f := range futures {
				if _, err := f.Get(ctx); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		if n, err := orchestrationtest.Start(e, all, 20).Wait(e.Context()); n != 20 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		for _, c := range calls.Calls() {
			if c.In != "Ann" || c.Out != "Ann" || c.Err != nil {
				t.Errorf("%+v", c)
			}
		}
	})
}
