package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// Every n-th commit fails, before or after it was stored. Nothing is lost or observed twice, no lease leaks, and no
// commit conflicts with itself.
func TestHazard01_CommitsThatFail(t *testing.T) {
	t.Parallel()
	for _, kind := range []faulty.Kind{faulty.Before, faulty.After} {
		for _, every := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("kind %d every %d", kind, every), func(t *testing.T) {
				t.Parallel()
				withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
					rule := faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn}, Kind: kind, Every: every}
					if every == 1 { // each commit once; its repetition passes
						rule.Every = 0
						seen := map[provider.UUID]bool{} // Match is called under the plan's lock
						rule.Match = func(req any) bool {
							id := req.(provider.CommitTurnRequest).Commit
							again := seen[id]
							seen[id] = true
							return !again
						}
					}
					plan.Add(rule)
					var runs atomic.Int64
					reg := single(e, func(_ context.Context, n int) (int, error) {
						runs.Add(1)
						return n, nil
					})
					rt := e.StartOn(node, reg, e.Options)
					key, one := e.Create("chain", "Chain", 30), e.Create("single", "single", 5)
					enginetest.Output[int](e, key)
					if got := enginetest.Output[int](e, one); got != 5 || runs.Load() != 1 {
						e.T.Errorf("got %d after %d runs", got, runs.Load())
					}
					if n := len(results(e, key)); n != 30 {
						e.T.Errorf("%d results", n)
					}
					if s := rt.Stats(); s.TurnsFailed != 0 || s.TurnsConflicted != 0 || s.StorageErrors == 0 {
						e.T.Errorf("%+v", s)
					}
				})
			})
		}
	}
}

// The same for every other call that changes something.
func TestOtherCallsThatFail(t *testing.T) {
	t.Parallel()
	ops := []faulty.Op{
		faulty.FetchTurns, faulty.FetchTasks, faulty.ReleaseTurns, faulty.ReportTasks, faulty.RenewTasks, faulty.ReadHistory, faulty.CommitTurn,
	}
	for name, kind := range map[string]faulty.Kind{"before": faulty.Before, "after": faulty.After} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withFaults(t, runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
				plan.Add(faulty.Rule{Ops: ops, Kind: kind, Probability: 0.3})
				reg := single(e, func(ctx context.Context, n int) (int, error) {
					if activity.GetInfo(ctx).Attempt < 3 {
						return 0, errors.New("again")
					}
					return n, nil
				}, orchestration.WithRetry(orchestration.RetryPolicy{}))
				e.StartOn(node, reg, e.Options)
				var keys []provider.UUID
				for i := range 5 {
					keys = append(keys, e.Create(fmt.Sprint("chain", i), "Chain", 10), e.Create(fmt.Sprint("single", i), "single", i))
				}
				for i, key := range keys {
					enginetest.Output[int](e, key)
					if want := []int{10, 1}[i%2]; len(results(e, key)) != want {
						e.T.Errorf("%v", results(e, key))
					}
				}
				plan.Clear()
			})
		})
	}
}

// Fetches may lease work without their node hearing of it. They do not count as deliveries: the work is released.
func TestLostFetchesPoisonNothing(t *testing.T) {
	t.Parallel()
	for _, op := range []faulty.Op{faulty.FetchTurns, faulty.FetchTasks} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			opts := runtime.Options{PoisonLimit: 3, MaxConcurrentActivities: 1} // with one slot nothing is handed off
			withFaults(t, opts, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
				plan.Add(faulty.Rule{Ops: []faulty.Op{op}, Kind: faulty.After, First: 30})
				var deliveries enginetest.Notes[int]
				e.StartOn(node, single(e, func(ctx context.Context, n int) (int, error) {
					deliveries.Add(activity.GetInfo(ctx).Deliveries)
					return n, nil
				}), e.Options)
				key := e.Create("single", "single", 3)
				e.WaitEnded(key)
				if got := enginetest.Output[int](e, key); got != 3 || len(deliveries.All()) != 1 || deliveries.All()[0] != 1 {
					e.T.Errorf("got %d, deliveries %v", got, deliveries.All())
				}
				if plan.Injected(op) != 30 {
					e.T.Errorf("%d faults", plan.Injected(op))
				}
			})
		})
	}
}

// Another node advanced the instance while its activity ran: the fast turn is refused,
// and the result reaches the execution through the inbox, once.
func TestHazard01_ConflictSendsTheResultToTheInbox(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		began, finish := make(chan struct{}), make(chan struct{})
		reg := single(e, func(_ context.Context, n int) (int, error) {
			close(began)
			<-finish
			return n, nil
		})
		rt := e.Start(reg)
		key := e.Create("single", "single", 7)
		<-began
		e.Steer(key, provider.SteerSuspend) // a new Version, no event
		e.Steer(key, provider.SteerResume)
		close(finish)
		if got := enginetest.Output[int](e, key); got != 7 {
			e.T.Errorf("got %d", got)
		}
		results(e, key)
		if s := rt.Stats(); s.TurnsConflicted != 1 || s.TurnsFast != 0 || s.ColdReplays != 1 {
			e.T.Errorf("%+v", s)
		}
	})
}

// A suspended instance lets its activity finish, holds no result in memory, and continues when it is resumed.
func TestHazard40_SuspendedInstanceKeepsItsResult(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		began, finish := make(chan struct{}), make(chan struct{})
		reg := single(e, func(_ context.Context, n int) (int, error) {
			close(began)
			<-finish
			return n, nil
		})
		e.Start(reg)
		key := e.Create("single", "single", 7)
		<-began
		e.Steer(key, provider.SteerSuspend)
		close(finish)
		e.Until("the result is in the inbox", func() bool { return e.Get(key).InboxMessages == 1 && len(e.Tasks(key)) == 0 })
		if i := e.Get(key); i.Status != provider.StatusSuspended || i.HistoryLength != 2 {
			e.T.Errorf("%+v", i)
		}
		e.Steer(key, provider.SteerResume)
		if got := enginetest.Output[int](e, key); got != 7 {
			e.T.Errorf("got %d", got)
		}
	})
}

// Renewals that fail cancel nothing while the lease holds. When it must be over, the attempt is cancelled, and the
// task runs again.
func TestRenewalThatFails(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]time.Duration{"shorter than the lease": 25 * time.Second, "longer": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withFaults(t, runtime.Options{Lease: 45 * time.Second}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
				var causes enginetest.Notes[error]
				began := make(chan struct{}, 100) // it is delivered again while renewals fail
				reg := single(e, func(ctx context.Context, n int) (int, error) {
					began <- struct{}{}
					select {
					case <-time.After(3 * time.Minute):
						return n, nil
					case <-ctx.Done():
						causes.Add(context.Cause(ctx))
						return 0, ctx.Err()
					}
				})
				e.StartOn(node, reg, e.Options)
				key := e.Create("single", "single", 7)
				<-began
				time.Sleep(time.Second) //nolint:forbidigo // virtual time
				down := time.Now()
				plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Before})
				time.Sleep(outage) //nolint:forbidigo // virtual time
				if early := causes.All(); len(early) > 0 && outage < 30*time.Second {
					e.T.Errorf("cancelled within %v of the outage: %v", time.Since(down), early)
				}
				plan.Clear()
				if got := enginetest.Output[int](e, key); got != 7 {
					e.T.Errorf("got %d", got)
				}
				got := causes.All()
				if (outage > time.Minute) != (len(got) > 0) {
					e.T.Errorf("causes %v", got)
				}
				for _, cause := range got {
					if !errors.Is(cause, activity.ErrLeaseLost) {
						e.T.Errorf("cause %v", cause)
					}
				}
			})
		})
	}
}

// An outage of the storage for a minute fails no work: turns, activities and timers continue afterwards as if
// nothing had happened.
func TestOutageOfAMinute(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, opts := range []runtime.Options{{}, {Cache: runtime.CacheOptions{Bytes: 1}}, {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
		t.Run(fmt.Sprintf("cache %d %d", opts.Cache.Executions, opts.Cache.Bytes), func(t *testing.T) {
			t.Parallel()
			withFaults(t, opts, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
				reg := registry(e.T)
				var attempts atomic.Int64
				enginetest.Activity(e.T, reg, "slow", func(ctx context.Context, n int) (int, error) {
					attempts.Store(max(attempts.Load(), int64(activity.GetInfo(ctx).Attempt)))
					select {
					case <-time.After(time.Duration(n) * time.Second):
						return n, nil
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				})
				enginetest.Orchestration(e.T, reg, "mixed", func(ctx *octx, n int) (int, error) {
					total := 0
					for range 10 {
						v, err := orchestration.CallActivityNamed[int](ctx, "slow", n)
						if err != nil {
							return 0, err
						}
						if err := ctx.Sleep(time.Duration(n) * time.Second); err != nil {
							return 0, err
						}
						total += v
					}
					return total, nil
				})
				rt := e.StartOn(node, reg, e.Options)
				var keys []provider.UUID
				for i := range 20 {
					keys = append(keys, e.Create(fmt.Sprint("mixed", i), "mixed", i+1))
				}
				for range 3 {
					time.Sleep(20 * time.Second) //nolint:forbidigo // virtual time
					plan.StartOutage()
					time.Sleep(time.Minute) //nolint:forbidigo // virtual time
					plan.EndOutage()
				}
				for i, key := range keys {
					if got := enginetest.Output[int](e, key); got != 10*(i+1) {
						e.T.Errorf("instance %d answered %d", i, got)
					}
					if n := len(results(e, key)); n != 10 {
						e.T.Errorf("instance %d has %d results", i, n)
					}
				}
				if n := attempts.Load(); n != 1 {
					e.T.Errorf("the outage was counted as %d attempts", n)
				}
				if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 {
					e.T.Errorf("%+v", s)
				}
			})
		})
	}
}

// A commit that was stored and not confirmed, and then overtaken, leaves no task leased
// to a node that does not know of it.
func TestHazard01_OvertakenCommitReleasesItsTasks(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		var runs atomic.Int64
		reg := single(e, func(_ context.Context, n int) (int, error) {
			runs.Add(1)
			return n, nil
		})
		stored := make(chan struct{}, 1)
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CommitTurn}, Kind: faulty.After, First: 1, Match: func(any) bool {
			select {
			case stored <- struct{}{}:
			default:
			}
			return true
		}})
		rt := e.StartOn(node, reg, e.Options)
		synctest.Wait() // until the node knows that no task waits: only then does a commit lease the task to it
		key := e.Create("single", "single", 7)
		<-stored
		synctest.Wait()                     // until the node waits to repeat it
		e.Steer(key, provider.SteerSuspend) // before the node repeats its commit
		e.Steer(key, provider.SteerResume)
		began := time.Now()
		if got := enginetest.Output[int](e, key); got != 7 || runs.Load() != 1 {
			e.T.Errorf("got %d after %d runs", got, runs.Load())
		}
		if took := time.Since(began); took > 5*time.Second {
			e.T.Errorf("took %v: the task waited for the end of its lease; %+v", took, rt.Stats())
		}
	})
}
