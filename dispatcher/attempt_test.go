package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// A running activity hears of each state of its execution by a distinct cause. A notice tells
// it at once, the next renewal if the notice is lost.
func TestStatesReachRunningActivities(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		do   func(e *enginetest.Engine, key provider.UUID)
		want error
	}{
		"terminated": {func(e *enginetest.Engine, key provider.UUID) { e.Terminate(key, "enough") }, activity.ErrOrchestrationEnded},
		"deleted": {func(e *enginetest.Engine, key provider.UUID) {
			if _, err := e.Store.Delete(e.T.Context(), provider.DeleteRequest{Key: key, Force: true}); err != nil {
				e.T.Error(err)
			}
		}, activity.ErrOrchestrationMissing},
		"cancelled": {func(e *enginetest.Engine, key provider.UUID) { e.Cancel(key, "enough") }, activity.ErrCancelled},
	}
	for name, c := range cases {
		for how, deaf := range map[string]bool{"notice": false, "renewal": true} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
					plan.DropNotices(deaf)
					began, heard := make(chan struct{}), make(chan error, 1)
					// The turns are another node's, so that the commit tells this one nothing.
					turns, worker := separate(e, func(ctx context.Context, n int) (int, error) {
						close(began)
						<-ctx.Done()
						heard <- context.Cause(ctx)
						return 0, ctx.Err()
					})
					rt := e.StartOn(node, worker, e.Options)
					e.Start(turns)
					key := e.Create("single", "single", 1)
					<-began
					asked := time.Now()
					c.do(e, key)
					cause := <-heard
					wait := time.Since(asked)
					missing := errors.Is(c.want, activity.ErrOrchestrationMissing) && errors.Is(cause, activity.ErrOrchestrationEnded) && !deaf
					// By the renewal the cancelled execution has long ended on the other node.
					ended := errors.Is(c.want, activity.ErrCancelled) && errors.Is(cause, activity.ErrOrchestrationEnded) && deaf
					if !errors.Is(cause, c.want) && !missing && !ended {
						e.T.Errorf("cause %v", cause)
					}
					limit := time.Second
					if deaf {
						limit = 11 * time.Second
					}
					if wait > limit {
						e.T.Errorf("heard after %v", wait)
					}
					e.Until("the slot is free", func() bool { return rt.Stats().AttemptsRunning == 0 })
				})
			})
		}
	}
}

// A cancelled activity that does not return is left behind after the grace period. Its slot is
// free, the orchestration continues, and its late result is dropped.
func TestGracePeriodFreesTheSlot(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 1}, func(e *enginetest.Engine) {
		hang := make(chan struct{})
		reg := single(e, func(ctx context.Context, n int) (int, error) {
			<-hang
			return n, nil
		}, orchestration.WithStartToCloseTimeout(time.Minute))
		rt := e.Start(reg)
		key := e.Create("single", "single", 1)
		began := time.Now()
		_, err := enginetest.Result[int](e, key, nil)
		took := time.Since(began)
		if !errors.Is(err, orchestration.ErrTimeout) || !strings.Contains(err.Error(), "grace period") {
			e.T.Errorf("the call ended with %v", err)
		}
		if took < 70*time.Second || took > 72*time.Second {
			e.T.Errorf("took %v, want timeout and grace period", took)
		}
		if s := rt.Stats(); s.AttemptsLeaked != 1 || s.AttemptsRunning != 0 {
			e.T.Errorf("%+v", s)
		}
		if got := enginetest.Output[int](e, e.Create("chain", "Chain", 3)); got != 8 {
			e.T.Errorf("the slot is not free: %d", got)
		}
		close(hang)
		results(e, key)
	})
}

// A node that is shut down while left-behind code runs says so.
func TestShutdownTellsOfLeakedCode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		hang := make(chan struct{})
		reg := single(e, func(context.Context, int) (int, error) {
			<-hang
			return 0, nil
		}, orchestration.WithStartToCloseTimeout(time.Second))
		rt, err := runtime.Start(e.T.Context(), e.Store, reg, runtime.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		key := e.Create("single", "single", 1)
		e.WaitEnded(key)
		if err := rt.Shutdown(e.T.Context()); !errors.Is(err, runtime.ErrLeaked) {
			e.T.Errorf("shutdown answered %v", err)
		}
		if err := rt.Shutdown(e.T.Context()); !errors.Is(err, runtime.ErrLeaked) {
			e.T.Errorf("second shutdown answered %v", err)
		}
		close(hang)
	})
}

// A task whose cancellation its dead node never heard of is not run again.
func TestCancelledTaskOfADeadNodeIsNotRunAgain(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		late := make(chan struct{})
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.FetchTasks}, Kind: faulty.Delay, Until: late})
		var runs enginetest.Notes[int]
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "work", func(context.Context, none) (none, error) {
			runs.Add(1)
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			f := orchestration.StartActivityNamed[none](ctx, "work", none{})
			if _, err := orchestration.Events[none](ctx, "stop").Receive(ctx); err != nil {
				return none{}, err
			}
			f.Cancel()
			return none{}, ctx.Sleep(time.Hour)
		})
		e.StartOn(node, reg, e.Options)
		key := e.Create("main", "main", none{})
		lose(e, "work", time.Minute)
		e.Raise(key, "stop", none{})
		e.Until("it is cancelled", func() bool { return e.Get(key).HistoryLength == 5 })
		close(late)
		enginetest.Output[none](e, key)
		if n := len(runs.All()); n != 0 {
			e.T.Errorf("it ran %d times", n)
		}
		if tasks := e.Tasks(key); len(tasks) != 0 {
			e.T.Errorf("left behind: %+v", tasks)
		}
	})
}

// A heartbeat hears why to stop.
func TestHeartbeatAnswersTheCause(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		heard := make(chan error, 1)
		reg := single(e, func(ctx context.Context, n int) (int, error) {
			for i := 0; ; i++ {
				if err := activity.Heartbeat(ctx, fmt.Sprint("step ", i)); err != nil {
					heard <- err
					return 0, err
				}
				time.Sleep(time.Second) //nolint:forbidigo // virtual time
			}
		})
		e.Start(reg)
		key := e.Create("single", "single", 1)
		e.Until("details are stored", func() bool {
			tasks := e.Tasks(key)
			return len(tasks) == 1 && strings.Contains(string(tasks[0].Details), "step ")
		})
		e.Cancel(key, "enough")
		if err := <-heard; !errors.Is(err, activity.ErrCancelled) {
			e.T.Errorf("heard %v", err)
		}
		e.WaitEnded(key)
	})
}
