package storagefaults

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// fetchWait is the time for which a fetch of the engine blocks.
const fetchWait = 30 * time.Second

// inBubbles runs a test on memory in virtual time, cached and not, with a plan of a fixed seed.
func inBubbles(t *testing.T, test func(e *enginetest.Engine, plan *faulty.Plan)) {
	t.Helper()
	for name, opts := range map[string]runtime.Options{"cached": {}, "uncached": {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, opts, func(e *enginetest.Engine) { test(e, faulty.NewPlan(1)) })
		})
	}
}

// run starts orders on a running node and waits for them.
func run(e *enginetest.Engine, many int) {
	e.T.Helper()
	keys := make([]provider.UUID, many)
	for i := range keys {
		keys[i] = order(e, i)
	}
	checkOrders(e, keys)
}

// Fetches that return early with nothing are repeated: nothing fails, nothing runs twice, and nothing waits longer.
func TestWokenForNothing(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(e *enginetest.Engine, plan *faulty.Plan) {
		plan.Add(faulty.Rule{Kind: faulty.DuplicateWake, Probability: 0.5})
		plan.Add(faulty.Rule{Kind: faulty.DuplicateWake, Delay: time.Millisecond})
		rt := e.StartOn(faulty.Wrap(e.Store, plan), orders(e.T), e.Options)
		began := time.Now()
		run(e, 50)
		if took := time.Since(began); took > time.Second {
			e.T.Errorf("took %v", took)
		}
		if n := plan.Injected(faulty.FetchTurns) + plan.Injected(faulty.FetchTasks); n < 10 {
			e.T.Errorf("%d fetches were woken for nothing", n)
		}
		if s := rt.Stats(); s.StorageErrors != 0 || s.TurnsFailed != 0 || s.AttemptsFailed != 0 || s.LeasesLost != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

// No fetch is ever woken: each finds waiting work when it begins or ends.
func TestNeverWoken(t *testing.T) {
	t.Parallel()
	inBubbles(t, func(e *enginetest.Engine, plan *faulty.Plan) {
		plan.Add(faulty.Rule{Kind: faulty.LostWake})
		rt := e.StartOn(faulty.Wrap(e.Store, plan), orders(e.T), e.Options)
		run(e, 50)
		if s := rt.Stats(); s.StorageErrors != 0 || s.TurnsFailed != 0 || s.AttemptsFailed != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

// A lost wake-up costs the rest of the fetch's wait, and less on a store that polls now and then.
func TestLostWakeUpCostsAWaitAtMost(t *testing.T) {
	t.Parallel()
	for name, interval := range map[string]time.Duration{"never looks": 0, "looks each 5s": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				plan, reg := faulty.NewPlan(1), runtime.NewRegistry()
				enginetest.Orchestration(e.T, reg, "plain", func(_ *octx, n int) (int, error) { return n, nil })
				plan.Add(faulty.Rule{Kind: faulty.LostWake, Delay: interval})
				e.StartOn(faulty.Wrap(e.Store, plan), reg, e.Options)
				time.Sleep(time.Second) //nolint:forbidigo // virtual time: the fetch is parked
				began := time.Now()
				if got := enginetest.Output[int](e, e.Create("i", "plain", 7)); got != 7 {
					e.T.Errorf("got %d", got)
				}
				most := fetchWait
				if interval > 0 {
					most = interval
				}
				if took := time.Since(began); took > most || took < most/2 {
					e.T.Errorf("took %v, want what was left of %v", took, most)
				}
			})
		})
	}
}

// A notice makes a node look at the store for ended executions. Two notices stop the activity once. If the notice is lost, the next
// renewal of the lease stops it.
func TestNoticesToldTwiceOrLost(t *testing.T) {
	t.Parallel()
	for kind, most := range map[faulty.Kind]time.Duration{faulty.DuplicateWake: 100 * time.Millisecond, faulty.LostWake: 10 * time.Second} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{Lease: 30 * time.Second}, func(e *enginetest.Engine) {
				plan, reg := faulty.NewPlan(1), runtime.NewRegistry()
				var stopped enginetest.Notes[time.Time]
				began := make(chan struct{}, 1)
				enginetest.Activity(e.T, reg, "wait", func(ctx context.Context, _ int) (int, error) {
					began <- struct{}{}
					<-ctx.Done()
					stopped.Add(time.Now())
					return 0, ctx.Err()
				})
				enginetest.Orchestration(e.T, reg, "waits", func(ctx *octx, n int) (int, error) {
					return orchestration.CallActivityNamed[int](ctx, "wait", n)
				})
				plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Notify}, Kind: kind})
				e.StartOn(faulty.Wrap(e.Store, plan), reg, e.Options)
				key := e.Create("i", "waits", 1)
				<-began
				time.Sleep(time.Second) //nolint:forbidigo // virtual time
				ended := time.Now()
				e.Terminate(key, "enough")
				time.Sleep(time.Minute) //nolint:forbidigo // virtual time
				at := stopped.All()
				if len(at) != 1 || at[0].Sub(ended) > most || at[0].Equal(ended) {
					e.T.Errorf("stopped %v after the end at %v, want once, %v later at most", at, ended, most)
				}
				if n := plan.Injected(faulty.Notify); n == 0 {
					e.T.Error("no notice was struck")
				}
			})
		})
	}
}
