package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// fleet is a node that is replaced by another each time it dies. A dead node's store no longer responds, so that its
// leased work is neither reported nor released.
type fleet struct {
	slow time.Duration // what it takes to give something back
	plan *faulty.Plan
	died chan struct{}
}

// kill is called by user code.
func (f *fleet) kill() {
	f.plan.StartOutage()
	select {
	case f.died <- struct{}{}:
	default:
	}
}

// run starts nodes until over, and returns how many died.
func (f *fleet) run(e *enginetest.Engine, reg *runtime.Registry, over func()) int {
	e.T.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		over()
	}()
	opts := e.Options
	opts.Logger = slog.New(slog.DiscardHandler)
	for deaths := 0; ; deaths++ {
		f.plan, f.died = faulty.NewPlan(1), make(chan struct{}, 1)
		slow := faulty.NewPlan(1)
		slow.Add(faulty.Rule{Ops: []faulty.Op{faulty.ReportTasks, faulty.ReleaseTurns}, Kind: faulty.Delay, Delay: f.slow})
		rt, err := runtime.Start(e.T.Context(), faulty.Wrap(faulty.Wrap(e.Store, f.plan), slow), reg, opts)
		if err != nil {
			e.T.Fatal(err)
		}
		select {
		case <-ended:
			e.Stop(rt)
			return deaths
		case <-f.died:
		}
		if deaths == 100 { // several times the poison limit
			e.T.Fatalf("%d nodes died", deaths)
		}
		finished, cancel := context.WithCancel(e.T.Context())
		cancel()
		if err := rt.Shutdown(finished); err == nil {
			e.T.Error("a dead node handed its leases back")
		}
	}
}

// Two hundred activities run with one that kills its node. They are lost with it at first. From the third time on
// each runs alone, so that only the killer reaches the poison limit. A killer that strikes at once could take along
// only work that its node fetched with it or since. There is none, although releases take a while.
func TestHazard11_OnlyTheKillerTaskIsPoisoned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ after, slow time.Duration }{
		"at once": {100 * time.Millisecond, 200 * time.Millisecond}, "late": {5 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 1000, Shutdown: runtime.ShutdownOptions{DrainTimeout: runtime.Off}}, func(e *enginetest.Engine) {
				f := fleet{slow: c.slow}
				var deliveries enginetest.Notes[int]
				reg := single(e, func(ctx context.Context, n int) (int, error) {
					d := activity.GetInfo(ctx).Deliveries
					if n < 0 {
						pause(ctx, c.after)
						f.kill()
						<-ctx.Done()
						return 0, ctx.Err()
					}
					if !pause(ctx, c.after+time.Second) {
						return 0, ctx.Err()
					}
					deliveries.Add(d)
					return n, nil
				})
				killer := e.Create("killer", "single", -1)
				innocents := startInnocents(e, "single", longtest.Pick(40, 200))
				deaths := f.run(e, reg, func() {
					if _, err := enginetest.Result[int](e, killer, nil); !errors.Is(err, orchestration.ErrPoisoned) {
						e.T.Errorf("the killer ended with %v", err)
					}
					for i, key := range innocents {
						if got := enginetest.Output[int](e, key); got != i {
							e.T.Errorf("innocent %d answered %d", i, got)
						}
					}
				})
				if deaths != 20 {
					e.T.Errorf("%d nodes died, want the poison limit", deaths)
				}
				// Three deaths together, then the run alone.
				if most := slices.Max(append(deliveries.All(), 0)); most > 4 {
					e.T.Errorf("an innocent was delivered %d times", most)
				}
			})
		})
	}
}

// A node fetches no other task while a suspect has only just begun. If the suspect kills it, nothing else is lost.
func TestHazard11_NothingIsFetchedWhileASuspectBegins(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Shutdown: runtime.ShutdownOptions{DrainTimeout: runtime.Off}}, func(e *enginetest.Engine) {
		f := fleet{}
		alone, other := make(chan time.Time, 1), make(chan time.Time, 1)
		turns, worker := separate(e, func(ctx context.Context, n int) (int, error) {
			switch {
			case n > 0:
				other <- time.Now()
			case activity.GetInfo(ctx).Deliveries <= 3:
				f.kill()
				<-ctx.Done()
			default:
				alone <- time.Now()
				pause(ctx, 10*time.Second)
			}
			return n, ctx.Err()
		})
		e.Start(turns)
		suspect := e.Create("suspect", "single", 0)
		f.run(e, worker, func() {
			began := <-alone
			e.Create("other", "single", 1)
			if waited := (<-other).Sub(began); waited < time.Second {
				e.T.Errorf("another task began %v after the suspect", waited)
			}
			_ = enginetest.Output[int](e, suspect)
		})
	})
}

// The same with turns.
func TestHazard11_OnlyTheKillerTurnIsPoisoned(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 1000, DeadlockLimit: runtime.Off}, func(e *enginetest.Engine) {
		f := fleet{slow: 200 * time.Millisecond}
		var deliveries enginetest.Notes[int64]
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "turn", func(ctx *octx, n int) (int, error) {
			if n < 0 {
				time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual time
				f.kill()
			}
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
			if n >= 0 {
				res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: fmt.Sprint("innocent", n)})
				deliveries.Add(res.Instance.Deliveries)
				return n, err
			}
			return n, nil
		})
		killer := e.Create("killer", "turn", -1)
		innocents := startInnocents(e, "turn", 200)
		deaths := f.run(e, reg, func() {
			b := e.WaitBlocked(killer, 1).Blocked
			if b.Reason != "poisoned" || b.RetryAt != 0 {
				e.T.Errorf("%+v", b)
			}
			for i, key := range innocents {
				if got := enginetest.Output[int](e, key); got != i {
					e.T.Errorf("innocent %d answered %d", i, got)
				}
			}
		})
		if deaths != 20 {
			e.T.Errorf("%d nodes died, want the poison limit", deaths)
		}
		if most := slices.Max(append(deliveries.All(), 0)); most > 4 {
			e.T.Errorf("an innocent was delivered %d times", most)
		}
	})
}

// startInnocents starts n instances that are to return their number.
func startInnocents(e *enginetest.Engine, name string, n int) []provider.UUID {
	e.T.Helper()
	keys := make([]provider.UUID, n)
	for i := range keys {
		keys[i] = e.Create(fmt.Sprint("innocent", i), name, i)
	}
	return keys
}

// pause waits in an activity; false if it is to stop.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Each run of a suspect that ends with the loss of its node delays the next one more.
func TestHazard11_SuspectsWaitLongerAndLonger(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"task", "turn"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{DeadlockLimit: runtime.Off}, func(e *enginetest.Engine) {
				var f fleet
				var runs enginetest.Notes[time.Time]
				die := func() {
					runs.Add(time.Now())
					f.kill()
				}
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "die", func(context.Context, none) (none, error) {
					die()
					return none{}, nil
				})
				enginetest.Orchestration(e.T, reg, "turn", func(*octx, none) (none, error) {
					die()
					return none{}, nil
				})
				enginetest.Orchestration(e.T, reg, "task", func(ctx *octx, _ none) (none, error) {
					return orchestration.CallActivityNamed[none](ctx, "die", none{})
				})
				key := e.Create("killer", name, none{})
				f.run(e, reg, func() {
					e.Until("it is set aside", func() bool {
						i := e.Get(key)
						return i.Status.Ended() || i.Blocked != nil
					})
				})
				checkDelays(e, runs.All())
			})
		})
	}
}

// checkDelays wants one second, doubling to a minute, on top of what the loss of the node costs.
func checkDelays(e *enginetest.Engine, runs []time.Time) {
	e.T.Helper()
	if len(runs) != 20 {
		e.T.Fatalf("the killer ran %d times, want the poison limit", len(runs))
	}
	const loss = 30 * time.Second // the lease
	for i := 1; i < len(runs); i++ {
		delay := time.Duration(0)
		if i >= 3 {
			delay = min(time.Second<<(i-3), time.Minute)
		}
		if got := runs[i].Sub(runs[i-1]) - loss; got < delay || got > delay+delay/2+time.Second {
			e.T.Errorf("run %d came %v after the end of the lease, want %v and a little", i+1, got, delay)
		}
	}
}

// A fast turn is not fetched, and so not counted, when it kills the node. Its task is delivered again, and its
// result goes through the inbox. From then on the turn is counted, and the activity does not run again for each
// death.
func TestHazard11_FastTurnThatKillsIsCounted(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var f fleet
		var runs enginetest.Notes[int]
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "effect", func(ctx context.Context, _ none) (none, error) {
			runs.Add(activity.GetInfo(ctx).Deliveries)
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "killer", func(ctx *octx, _ none) (none, error) {
			_, err := orchestration.CallActivityNamed[none](ctx, "effect", none{})
			f.kill()
			return none{}, err
		})
		key := e.Create("killer", "killer", none{})
		deaths := f.run(e, reg, func() {
			if b := e.WaitBlocked(key, 1).Blocked; b.Reason != "poisoned" {
				e.T.Errorf("%+v", b)
			}
		})
		if got := fmt.Sprint(runs.All()); deaths != 21 || got != "[1 2]" {
			e.T.Errorf("%d nodes died, want the poison limit and the fast turn; deliveries of the activity: %s", deaths, got)
		}
	})
}

// A task that was lost with its node before takes no fast path. Its turn is fetched, so that it counts if it is what
// kills the nodes.
func TestHazard11_RedeliveredTaskTakesNoShortCut(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		late := make(chan struct{})
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.FetchTasks}, Kind: faulty.Delay, Until: late})
		var deliveries enginetest.Notes[int]
		rt := e.StartOn(node, single(e, func(ctx context.Context, n int) (int, error) {
			deliveries.Add(activity.GetInfo(ctx).Deliveries)
			return n, nil
		}), e.Options)
		key := e.Create("single", "single", 3)
		lose(e, "work", time.Second)
		close(late)
		if got := enginetest.Output[int](e, key); got != 3 {
			e.T.Errorf("got %d", got)
		}
		if fmt.Sprint(deliveries.All()) != "[2]" {
			e.T.Errorf("deliveries %v", deliveries.All())
		}
		if s := rt.Stats(); s.TurnsFast != 0 || s.TurnsFetched != 2 || s.ColdReplays != 0 {
			e.T.Errorf("%+v", s)
		}
		results(e, key)
	})
}
