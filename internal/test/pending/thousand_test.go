package pending

import (
	"context"
	stdruntime "runtime"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// perActivity is the memory limit for a waiting activity: slot, lease, context, task and the orchestration's share.
const perActivity = 16 << 10

// used returns the memory in use, heap and stacks.
func used() int64 {
	stdruntime.GC()
	stdruntime.GC() // garbage with finalizers, which the first run has found
	var m stdruntime.MemStats
	stdruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + int64(m.StackInuse)
}

// A thousand activities wait at once under a limit of a thousand. However they wait, each takes little memory.
func TestThousandWait(t *testing.T) { // memory is measured, so not parallel
	longtest.Skip(t)
	const many = 1000
	ways := map[string]func(a *approval, end <-chan struct{}) func(context.Context, int) (string, error){
		"held":   func(a *approval, _ <-chan struct{}) func(context.Context, int) (string, error) { return a.work },
		"parked": func(a *approval, _ <-chan struct{}) func(context.Context, int) (string, error) { return a.work },
		"blocking": func(a *approval, end <-chan struct{}) func(context.Context, int) (string, error) {
			return func(ctx context.Context, n int) (string, error) {
				_, err := a.work(ctx, n)
				<-end
				return "done", err
			}
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			e := enginetest.Memory(t, runtime.Options{MaxConcurrentActivities: many})
			a, end := newApproval(modes[name]), make(chan struct{})
			reg := runtime.NewRegistry()
			enginetest.Activity(t, reg, "approve", way(a, end))
			enginetest.Orchestration(t, reg, "main", func(ctx *orchestration.Context, n int) (int, error) {
				all := make([]orchestration.Future[string], n)
				for i := range all {
					all[i] = orchestration.StartActivityNamed[string](ctx, "approve", i)
				}
				for _, f := range all {
					if _, err := f.Get(ctx); err != nil {
						return 0, err
					}
				}
				return n, nil
			})
			rt := e.Start(reg)
			before := used()
			key := e.Create("main", "main", many)
			e.Until("all wait", func() bool {
				s := rt.Stats()
				return len(a.tokens) == many && (name == "blocking" && s.AttemptsRunning == many ||
					name == "held" && s.AttemptsPending == many || name == "parked" && s.AttemptsParked == many && s.AttemptsRunning == 0)
			})
			each := (used() - before) / many
			t.Logf("%d bytes each", each)
			if each > perActivity {
				t.Errorf("%d bytes for each waiting activity, want at most %d", each, perActivity)
			}
			close(end)
			if name != "blocking" {
				c := caller(e, reg)
				for range many {
					if err := client.CompleteActivity(t.Context(), c, <-a.tokens, "done"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := enginetest.Output[int](e, key); got != many {
				t.Errorf("got %d", got)
			}
			e.Until("nothing runs", func() bool { s := rt.Stats(); return s.AttemptsRunning == 0 && s.AttemptsPending == 0 })
		})
	}
}
