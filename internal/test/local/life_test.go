package local

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// stop shuts the node down in the background and sends the result.
func (r *rig) stop(node *runtime.Runtime) <-chan error {
	done := make(chan error, 1)
	go func() { done <- node.Shutdown(context.WithoutCancel(r.T.Context())) }()
	return done
}

// complete_after_shutdown: a running activity may finish after the request to stop, and its result is stored.
func TestLocalActivity_CompleteAfterShutdown(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]bool{"in its turn": false, "as a task": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, func(r *rig) {
				d := 300 * time.Millisecond
				if task {
					d = r.brief()
				}
				began := make(chan struct{}, 10)
				runs := r.script("work", func(ctx context.Context, _ int) (string, error) {
					began <- struct{}{}
					return "finished", hold(ctx, d)
				})
				key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
				<-began
				if err := <-r.stop(r.node); err != nil {
					r.T.Errorf("shutting down: %v", err)
				}
				r.Start(r.reg)
				if got := enginetest.Output[string](r.engine, key); got != "finished" {
					r.T.Errorf("got %q", got)
				}
				if n := len(runs.All()); n != 1 {
					r.T.Errorf("it ran %d times, want once", n)
				}
			})
		})
	}
}

// shutdown_sends_cancellation: an activity that does not end in time is cancelled, leaves no event, and begins again on
// another node with the same attempt.
func TestLocalActivity_ShutdownSendsCancellation(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]time.Duration{"in its turn": runtime.Off, "as a task": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, func(r *rig) {
				r.Options.Shutdown.DrainTimeout = drain
				if drain > 0 {
					r.brief()
				}
				began := make(chan struct{}, 10)
				heard := make(chan error, 10)
				var second atomic.Bool
				runs := r.script("work", func(ctx context.Context, _ int) (string, error) {
					if second.Load() {
						return "elsewhere", nil
					}
					began <- struct{}{}
					<-ctx.Done()
					heard <- context.Cause(ctx)
					return "", context.Cause(ctx)
				})
				key := r.main(func(ctx *octx, _ none) (string, error) {
					return call(ctx, "work", orchestration.WithStartToCloseTimeout(time.Hour), retries(orchestration.RetryPolicy{MaxAttempts: 1}))
				})
				<-began
				asked := time.Now()
				stopped := r.stop(r.node)
				if cause := <-heard; !errors.Is(cause, activity.ErrShutdown) {
					r.T.Errorf("it saw %v", cause)
				}
				if took := time.Since(asked); r.Virtual && took > max(drain, 0)+100*time.Millisecond {
					r.T.Errorf("it ended after %v, want little more than the drain timeout", took)
				}
				if err := <-stopped; err != nil {
					r.T.Errorf("shutting down: %v", err)
				}
				if strings.Contains(r.kinds(key), "LocalEnded") || strings.Contains(r.kinds(key), "ActivityFailed") {
					r.T.Errorf("history is %s", r.kinds(key))
				}
				second.Store(true)
				r.Start(r.reg)
				if got := enginetest.Output[string](r.engine, key); got != "elsewhere" {
					r.T.Errorf("got %q", got)
				}
				if all := runs.All(); len(all) != 2 || all[1].info.Attempt != 1 || all[1].key != all[0].key {
					r.T.Errorf("attempts were %+v", all)
				}
			})
		})
	}
}

// A node that shuts down begins no local activity.
func TestLocalActivity_NoneBeginsInShutdown(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		began, goOn := make(chan struct{}, 10), make(chan struct{})
		runs := r.script("work", func(context.Context, int) (string, error) {
			began <- struct{}{}
			<-goOn
			return "ok", nil
		})
		key := r.main(func(ctx *octx, _ none) (string, error) {
			if _, err := call(ctx, "work"); err != nil {
				return "", err
			}
			return call(ctx, "work")
		})
		<-began
		stopped := r.stop(r.node)
		r.Until("the node stops", func() bool { return len(began) == 0 })
		timer := time.NewTimer(time.Millisecond)
		<-timer.C
		close(goOn)
		if err := <-stopped; err != nil {
			r.T.Errorf("shutting down: %v", err)
		}
		if n := len(runs.All()); n != 1 || len(r.Tasks(key)) != 1 {
			r.T.Errorf("%d ran, %d are in the queue", n, len(r.Tasks(key)))
		}
		r.Start(r.reg)
		enginetest.Output[string](r.engine, key)
	})
}

// A failed commit repeats the local activities that ran before it, under the same idempotency keys.
func TestLocalActivity_RunsAgainAfterAConflict(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		began, goOn := make(chan struct{}, 10), make(chan struct{}, 10)
		runs := r.script("work", func(context.Context, int) (string, error) {
			began <- struct{}{}
			<-goOn
			return "ok", nil
		})
		key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
		<-began
		r.Steer(key, provider.SteerSuspend) // changes the version that the turn was computed from
		goOn <- struct{}{}
		r.Until("the turn is lost", func() bool { return r.node.Stats().TurnsConflicted == 1 })
		r.Steer(key, provider.SteerResume)
		<-began
		goOn <- struct{}{}
		if got := enginetest.Output[string](r.engine, key); got != "ok" {
			r.T.Errorf("got %q", got)
		}
		if all := runs.All(); len(all) != 2 || all[0].key != all[1].key || all[1].info.Attempt != 1 {
			r.T.Errorf("runs were %+v", all)
		}
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
	})
}

// A node that is lost before the commit loses its whole turn. Another node repeats it.
func TestLocalActivity_LostWithItsNode(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		plan := faulty.NewPlan(1)
		runs := &enginetest.Notes[run]{}
		enginetest.Activity(r.T, r.reg, "work", func(ctx context.Context, _ string) (string, error) {
			if runs.Add(run{activity.GetInfo(ctx), activity.IdempotencyKey(ctx)}) == 2 {
				plan.StartOutage()
			}
			return "ok", nil
		})
		enginetest.Orchestration(r.T, r.reg, "main", func(ctx *octx, _ none) (string, error) {
			if _, err := call(ctx, "work"); err != nil {
				return "", err
			}
			return call(ctx, "work")
		})
		r.StartOn(faulty.Wrap(r.Store, plan), r.reg, r.Options)
		key := r.Create("main", "main", none{})
		r.Until("the turn is made", func() bool { return len(runs.All()) == 2 })
		r.Start(r.reg)
		if got := enginetest.Output[string](r.engine, key); got != "ok" {
			r.T.Errorf("got %q", got)
		}
		plan.EndOutage()
		all := runs.All() // a parked fetch of the lost node may have fetched the turn again
		if len(all) < 4 || len(all)%2 != 0 {
			r.T.Errorf("%d runs", len(all))
		}
		for i, run := range all {
			if run.key != all[i%2].key || run.info.Attempt != 1 {
				r.T.Errorf("run %d was %+v, the first %+v", i, run, all[i%2])
			}
		}
		if got, want := r.kinds(key), "ExecutionStarted LocalEnded LocalEnded ExecutionCompleted"; got != want {
			r.T.Errorf("history is %s, want %s", got, want)
		}
	})
}

// A local activity that outlasted its turn has no receiver when the commit of the turn fails. It is cancelled.
func TestLocalActivity_ToldWhenItsTurnIsLost(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		s := r.stopper("work", obey)
		key := r.main(func(ctx *octx, _ none) (string, error) {
			return call(ctx, "work", orchestration.WithStartToCloseTimeout(time.Hour))
		})
		<-s.began
		r.Steer(key, provider.SteerSuspend)
		if cause := <-s.heard; !errors.Is(cause, activity.ErrLeaseLost) {
			r.T.Errorf("it saw %v", cause)
		}
		r.Terminate(key, "enough")
		if n := r.stats().AttemptsRunning; n != 0 {
			r.T.Errorf("%d attempts hold a slot", n)
		}
	})
}

// A lost reply changes nothing: the repeated commit succeeds, and a running activity does not begin twice.
func TestLocalActivity_UnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]time.Duration{"in its turn": 0, "as a task": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(r *rig) {
				plan := faulty.NewPlan(1)
				plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn}, Kind: faulty.After, First: 1})
				runs := r.script("work", func(ctx context.Context, _ int) (string, error) { return "ok", hold(ctx, d) })
				enginetest.Orchestration(r.T, r.reg, "main", func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
				r.node = r.StartOn(faulty.Wrap(r.Store, plan), r.reg, r.Options)
				key := r.Create("main", "main", none{})
				enginetest.Output[string](r.engine, key)
				if n := len(runs.All()); n != 1 || plan.Injected(faulty.CommitTurn) != 1 {
					r.T.Errorf("it ran %d times, with %d faults", n, plan.Injected(faulty.CommitTurn))
				}
			})
		})
	}
}

// An activity that a node cannot run inside its turns goes to the queue, where its limits apply.
func TestLocalActivity_GoesToTheQueue(t *testing.T) {
	t.Parallel()
	t.Run("switched off", func(t *testing.T) {
		t.Parallel()
		everyMode(t, func(r *rig) {
			r.Options.LocalActivityTime = runtime.Off
			runs := r.script("work", ok)
			key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
			r.wantQueued(key, runs)
		})
	})
	t.Run("limited", func(t *testing.T) {
		t.Parallel()
		everyMode(t, func(r *rig) {
			runs := &enginetest.Notes[run]{}
			enginetest.Activity(r.T, r.reg, "work", func(ctx context.Context, _ string) (string, error) {
				runs.Add(run{info: activity.GetInfo(ctx)})
				return "ok", nil
			}, runtime.MaxConcurrent(1))
			key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
			r.wantQueued(key, runs)
		})
	})
	t.Run("registered elsewhere", func(t *testing.T) {
		t.Parallel()
		everyMode(t, func(r *rig) {
			key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
			r.reg = runtime.NewRegistry()
			runs := r.script("work", ok)
			r.Start(r.reg)
			r.wantQueued(key, runs)
		})
	})
}

func (r *rig) wantQueued(key provider.UUID, runs *enginetest.Notes[run]) {
	r.T.Helper()
	enginetest.Output[string](r.engine, key)
	if got, want := r.kinds(key), "ExecutionStarted LocalQueued ActivityScheduled ActivityCompleted ExecutionCompleted"; got != want {
		r.T.Errorf("history is %s, want %s", got, want)
	}
	if all := runs.All(); len(all) != 1 || all[0].info.Local || all[0].info.Attempt != 1 {
		r.T.Errorf("runs were %+v", all)
	}
}

// Without a free slot, an activity that outlasts its turn begins again in the queue. It never exceeds the slots.
func TestLocalActivity_NoSlotToGoOn(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		r.Options.MaxConcurrentActivities = 1
		occupied, free := make(chan struct{}), make(chan struct{})
		enginetest.Activity(r.T, r.reg, "occupy", func(context.Context, none) (none, error) {
			close(occupied)
			<-free
			return none{}, nil
		})
		enginetest.Orchestration(r.T, r.reg, "occupier", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivityNamed[none](ctx, "occupy", none{})
		})
		heard := make(chan error, 1)
		runs := r.script("work", func(ctx context.Context, _ int) (string, error) {
			if !activity.GetInfo(ctx).Local {
				return "in the queue", nil
			}
			<-ctx.Done()
			heard <- context.Cause(ctx)
			return "", context.Cause(ctx)
		})
		other := r.Create("occupier", "occupier", none{})
		key := r.main(func(ctx *octx, _ none) (string, error) {
			_, err := orchestration.Events[none](ctx, "go").Receive(ctx)
			if err != nil {
				return "", err
			}
			return call(ctx, "work", orchestration.WithStartToCloseTimeout(time.Hour))
		})
		<-occupied
		r.Raise(key, "go", none{})
		if cause := <-heard; !errors.Is(cause, activity.ErrLeaseLost) {
			r.T.Errorf("it saw %v", cause)
		}
		close(free)
		if got := enginetest.Output[string](r.engine, key); got != "in the queue" || len(runs.All()) != 2 {
			r.T.Errorf("got %q after %d runs", got, len(runs.All()))
		}
		enginetest.Output[none](r.engine, other)
	})
}

// A turn that waits for a local activity is not stuck, even if that takes longer than the deadlock limit.
func TestLocalActivity_IsNoDeadlock(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		r.Options.DeadlockLimit = 100 * time.Millisecond
		r.script("work", func(ctx context.Context, _ int) (string, error) { return "ok", hold(ctx, 900*time.Millisecond) })
		key := r.main(func(ctx *octx, _ none) (string, error) { return call(ctx, "work") })
		enginetest.Output[string](r.engine, key)
		if s := r.stats(); s.TurnsStuck != 0 || s.TurnsCommitted != 1 {
			r.T.Errorf("stuck %d, committed %d", s.TurnsStuck, s.TurnsCommitted)
		}
	})
}

// A local activity that ends with its execution is cancelled and leaves nothing.
func TestLocalActivity_EndsWithItsExecution(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"in its turn": 0, "as a task": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(r *rig) {
				s := r.stopper("work", obey)
				r.begun(s)
				key := r.main(func(ctx *octx, _ none) (string, error) {
					begin(ctx, "work", orchestration.WithCancellation(orchestration.Abandon), orchestration.WithStartToCloseTimeout(time.Hour))
					_, err := call(ctx, "quick")
					if err == nil && wait > 0 {
						err = ctx.Sleep(wait)
					}
					return "ended", err
				})
				enginetest.Output[string](r.engine, key)
				if cause := <-s.heard; !errors.Is(cause, activity.ErrOrchestrationEnded) {
					r.T.Errorf("it saw %v", cause)
				}
			})
		})
	}
}

// The number of local activities that an execution waits for has a limit, and the error names it.
func TestLocalActivity_AtMostAHundred(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		r.script("quick", ok)
		key := r.main(func(ctx *octx, _ none) (string, error) {
			futures := make([]orchestration.Future[string], 101)
			for i := range futures {
				futures[i] = begin(ctx, "quick")
			}
			_, err := orchestration.All(ctx, futures...)
			return "", err
		})
		if _, err := enginetest.Result[string](r.engine, key, nil); !errors.Is(err, orchestration.ErrTooLarge) {
			r.T.Errorf("ended with %v", err)
		}
		if n := strings.Count(r.kinds(key), "LocalEnded"); n != 100 {
			r.T.Errorf("%d ended, want 100", n)
		}
	})
}

// The code of a local activity is not code of its orchestration: a call on the orchestration's Context fails and does
// no harm.
func TestLocalActivity_MayNotUseTheContext(t *testing.T) {
	t.Parallel()
	everyMode(t, func(r *rig) {
		var leaked atomic.Pointer[octx]
		var fixed atomic.Bool
		r.script("work", func(context.Context, int) (string, error) {
			if ctx := leaked.Load(); ctx != nil {
				return "", ctx.Sleep(time.Second)
			}
			return "ok", nil
		})
		key := r.main(func(ctx *octx, _ none) (string, error) {
			leaked.Store(nil)
			if !fixed.Load() {
				leaked.Store(ctx)
			}
			return call(ctx, "work")
		})
		i := r.WaitBlocked(key, 1)
		if i.Blocked.Reason != "foreign-call" {
			r.T.Errorf("blocked for %+v", i.Blocked)
		}
		fixed.Store(true)
		r.Steer(key, provider.SteerUnblock)
		if got := enginetest.Output[string](r.engine, key); got != "ok" {
			r.T.Errorf("got %q", got)
		}
	})
}
