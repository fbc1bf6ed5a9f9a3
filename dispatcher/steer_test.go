package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Steering wins at its first try against a chain that commits as fast as it can. Nothing in flight is stored
// afterwards.
func TestHazard19_SteeringWinsAgainstCommits(t *testing.T) {
	t.Parallel()
	test := func(e *enginetest.Engine) {
		var steps atomic.Int64
		marks := make(chan int64, 2)
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "step", func(context.Context, int) (none, error) {
			if n := steps.Add(1); n == 50 || n == 500 {
				marks <- n
			}
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "endless", func(ctx *octx, _ none) (none, error) {
			for i := 0; ; i++ {
				if _, err := orchestration.CallActivityNamed[none](ctx, "step", i); err != nil {
					return none{}, err
				}
			}
		})
		rt := e.Start(reg)
		key := e.Create("endless", "endless", none{})
		<-marks
		e.Steer(key, provider.SteerSuspend)
		suspended := e.Get(key)
		e.Until("the result on its way has arrived", func() bool { return e.Get(key).InboxMessages == 1 && len(e.Tasks(key)) == 0 })
		if i := e.Get(key); i.Status != provider.StatusSuspended || i.Version != suspended.Version || i.HistoryLength != suspended.HistoryLength {
			e.T.Errorf("was %+v, is %+v", suspended, i)
		}
		e.Steer(key, provider.SteerResume)
		<-marks
		e.Terminate(key, "enough")
		ended := e.Get(key)
		e.Until("nothing of it runs", func() bool { return rt.Stats().AttemptsRunning == 0 && rt.Stats().TurnsRunning == 0 })
		i := e.Get(key)
		if i.Status != provider.StatusTerminated || i.Version != ended.Version || i.HistoryLength != ended.HistoryLength {
			e.T.Errorf("was %+v, is %+v", ended, i)
		}
		events := e.History(key, 1)
		if last := events[len(events)-1]; last.Body.Kind() != history.KindExecutionTerminated {
			e.T.Errorf("the last event is %v", last.Body.Kind())
		}
		results(e, key)
	}
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		enginetest.Bubble(t, runtime.Options{}, test)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(enginetest.SQLite(t, runtime.Options{}))
	})
}

// A suspended instance starts no activity, neither from the queue nor by hand-off. A running one continues, with its
// lease, and its result waits.
func TestHazard19_SuspendedStartsNothing(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var causes enginetest.Notes[error]
		var later atomic.Int64
		turns, worker := separate(e, func(ctx context.Context, n int) (int, error) {
			select {
			case <-time.After(10 * time.Minute):
			case <-ctx.Done():
				causes.Add(context.Cause(ctx))
			}
			return n, nil
		})
		enginetest.Activity(e.T, worker, "later", func(context.Context, none) (none, error) {
			later.Add(1)
			return none{}, nil
		})
		enginetest.Orchestration(e.T, turns, "main", func(ctx *octx, _ none) (int, error) {
			work := orchestration.StartActivityNamed[int](ctx, "work", 3)
			if _, err := orchestration.Events[int](ctx, "box").Receive(ctx); err != nil {
				return 0, err
			}
			if _, err := orchestration.CallActivityNamed[none](ctx, "later", none{}); err != nil {
				return 0, err
			}
			return work.Get(ctx)
		})
		e.Start(turns)
		rt := e.StartOn(e.Store, worker, runtime.Options{MaxConcurrentActivities: 1}) // the next task stays in the queue
		key := e.Create("main", "main", none{})
		e.Until("work runs", func() bool { return rt.Stats().AttemptsRunning == 1 })
		e.Raise(key, "box", 1)
		e.Until("another waits", func() bool { return len(e.Tasks(key)) == 2 })
		e.Steer(key, provider.SteerSuspend)
		idle := e.Start(worker)
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		if n := idle.Stats().TasksFetched; n != 0 || later.Load() != 0 {
			e.T.Errorf("%d tasks were fetched, %d ran", n, later.Load())
		}
		if i := e.Get(key); i.InboxMessages != 1 || len(e.Tasks(key)) != 1 {
			e.T.Errorf("%d messages, tasks %+v", i.InboxMessages, e.Tasks(key))
		}
		e.Steer(key, provider.SteerResume)
		if got := enginetest.Output[int](e, key); got != 3 || later.Load() != 1 {
			e.T.Errorf("got %d, the other ran %d times", got, later.Load())
		}
		if all := causes.All(); len(all) != 0 {
			e.T.Errorf("the suspension reached a running activity: %v", all)
		}
	})
}

// Termination needs no code: it reaches an instance that no node can run, one that is stuck and one that is Blocked.
func TestHazard19_TerminateNeedsNoCode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		never := make(chan struct{})
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "stuck", func(*octx, none) (none, error) {
			<-never
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "panics", func(*octx, none) (none, error) { panic("always") })
		e.Start(reg)
		retired, stuck, blocked := e.Create("a", "retired", none{}), e.Create("b", "stuck", none{}), e.Create("c", "panics", none{})
		e.WaitBlocked(blocked, 1)
		synctest.Wait()
		for _, key := range []provider.UUID{retired, stuck, blocked} {
			e.Terminate(key, "enough")
			if i := e.Get(key); i.Status != provider.StatusTerminated {
				e.T.Errorf("%s is %v", i.ID, i.Status)
			}
		}
		close(never)
		synctest.Wait()
		if i := e.Get(stuck); i.Status != provider.StatusTerminated || i.HistoryLength != 1 {
			e.T.Errorf("%+v", i)
		}
	})
}

// The end from outside reaches the family: running children are cancelled, the parent hears of it.
func TestHazard19_TerminateTellsTheFamily(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "leaf", func(ctx *octx, _ none) (none, error) {
			return none{}, ctx.Sleep(1000 * time.Hour)
		})
		enginetest.Orchestration(e.T, reg, "middle", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallOrchestrationNamed[none](ctx, "leaf", none{})
		})
		enginetest.Orchestration(e.T, reg, "top", func(ctx *octx, _ none) (string, error) {
			_, err := orchestration.CallOrchestrationNamed[none](ctx, "middle", none{})
			if !errors.Is(err, orchestration.ErrTerminated) {
				return "", fmt.Errorf("the child ended with %w", err)
			}
			return "heard", nil
		})
		e.Start(reg)
		top := e.Create("top", "top", none{})
		synctest.Wait()
		middle := child(e, top)
		leaf := child(e, middle)
		began := time.Now()
		e.Terminate(middle, "enough")
		if got := enginetest.Output[string](e, top); got != "heard" {
			e.T.Errorf("got %q", got)
		}
		if i := e.WaitEnded(leaf); i.Status != provider.StatusCancelled {
			e.T.Errorf("the child of what was terminated is %v", i.Status)
		}
		if took := time.Since(began); took > time.Second {
			e.T.Errorf("it took %v", took)
		}
	})
}
