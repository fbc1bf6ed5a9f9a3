package dispatcher_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// once calls "work" once with AtMostOnce and a policy that would retry for ever.
func once(e *enginetest.Engine, work func(context.Context, int) (int, error)) *runtime.Registry {
	e.T.Helper()
	return single(e, work, orchestration.AtMostOnce(), orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// An attempt that dies with its node is delivered again as the same attempt. A call with AtMostOnce ends instead,
// whatever the policy says. A node that dies between the commit and the first line of the code counts, too.
func TestHazard12_LostLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		atMostOnce, begun bool
		runs              int
	}{
		"begun":                   {false, true, 2},
		"not begun":               {false, false, 1},
		"begun, at most once":     {true, true, 1},
		"not begun, at most once": {true, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				var f fleet
				var runs enginetest.Notes[activity.Info]
				work := func(ctx context.Context, n int) (int, error) {
					if runs.Add(activity.GetInfo(ctx)) == 1 && c.begun {
						f.kill()
						<-ctx.Done()
						return 0, ctx.Err()
					}
					return n, nil
				}
				reg := single(e, work)
				if c.atMostOnce {
					reg = once(e, work)
				}
				if !c.begun {
					e.Store = provider.FullOf(&lastCommit{Full: e.Store, f: &f})
				}
				f.run(e, reg, func() {
					synctest.Wait() // until the node is parked in its fetches, so that it hands itself the task
					key := e.Create("single", "single", 7)
					got, err := enginetest.Result[int](e, key, nil)
					if c.atMostOnce && !errors.Is(err, orchestration.ErrWorkerLost) || !c.atMostOnce && (got != 7 || err != nil) {
						e.T.Errorf("got %d, %v", got, err)
					}
				})
				for i, info := range runs.All() {
					if info.Attempt != 1 || c.begun && info.Deliveries != i+1 {
						e.T.Errorf("%+v", info)
					}
				}
				if n := len(runs.All()); n != c.runs {
					e.T.Errorf("it ran %d times", n)
				}
			})
		})
	}
}

// lastCommit is a store whose node dies with the first commit that hands it a task: it is stored, and no more comes of it.
type lastCommit struct {
	*provider.Full

	f    *fleet
	died atomic.Bool
}

func (l *lastCommit) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	res, err := l.Provider.CommitTurn(ctx, req)
	if len(req.Tasks) == 1 && req.Tasks[0].Lease != nil && l.died.CompareAndSwap(false, true) {
		l.f.kill()
		return provider.CommitTurnResult{}, errors.New("died")
	}
	return res, err
}

// A node does not release an attempt that runs at most once after it has begun. This holds when the node shuts down,
// whether the code obeys or not. It holds when the node hears wrongly that the orchestration has ended.
func TestHazard12_BegunIsNotReleased(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		obeys, shutdown bool
	}{
		"shutdown":        {true, true},
		"shutdown, stuck": {false, true},
		"stale answer":    {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{Shutdown: runtime.ShutdownOptions{DrainTimeout: runtime.Off}, Leaks: runtime.LeakOptions{GracePeriod: time.Hour}}, func(e *enginetest.Engine) {
				began, end := make(chan struct{}, 2), make(chan struct{})
				var runs enginetest.Notes[error]
				reg := once(e, func(ctx context.Context, _ int) (int, error) {
					began <- struct{}{}
					select {
					case <-ctx.Done():
						runs.Add(context.Cause(ctx))
						if !c.obeys {
							<-end
						}
						return 0, ctx.Err()
					case <-time.After(time.Hour):
						runs.Add(nil)
						return 1, nil
					}
				})
				stale := &staleOnce{Full: e.Store}
				rt, err := runtime.Start(e.T.Context(), stale, reg, e.Options)
				if err != nil {
					e.T.Fatal(err)
				}
				key := e.Create("single", "single", 7)
				<-began
				finished, cancel := context.WithCancel(e.T.Context())
				cancel()
				if c.shutdown {
					if err := rt.Shutdown(finished); c.obeys != (err == nil) {
						e.T.Error(err)
					}
					e.Start(reg)
				} else {
					stale.renewal.Store(true)
				}
				if _, err := enginetest.Result[int](e, key, nil); !errors.Is(err, orchestration.ErrWorkerLost) {
					e.T.Errorf("the call ended with %v", err)
				}
				if n := len(runs.All()); n != 1 {
					e.T.Errorf("it ran %d times", n)
				}
				close(end)
				synctest.Wait()
				_ = rt.Shutdown(finished)
			})
		})
	}
}

// A failure that was reported is another attempt, at-most-once or not: the policy judges it.
func TestHazard12_ReportedFailuresAreRetried(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		// The storage keeps each report and says that it does not know.
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.ReportTasks}, Kind: faulty.After, Every: 2})
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.ReportTasks}, Kind: faulty.After, First: 1})
		var runs enginetest.Notes[activity.Info]
		e.StartOn(node, once(e, func(ctx context.Context, n int) (int, error) {
			info := activity.GetInfo(ctx)
			runs.Add(info)
			if info.Attempt < 4 {
				return 0, errors.New("again")
			}
			return n, nil
		}), e.Options)
		key := e.Create("single", "single", 7)
		if got := enginetest.Output[int](e, key); got != 7 {
			e.T.Errorf("got %d", got)
		}
		for i, info := range runs.All() {
			if info.Attempt != i+1 || info.Deliveries != 1 {
				e.T.Errorf("run %d is %+v", i+1, info)
			}
		}
		if n := len(runs.All()); n != 4 || plan.Injected(faulty.ReportTasks) < 2 {
			e.T.Errorf("it ran %d times", n)
		}
		results(e, key)
	})
}
