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
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// A sequential step costs one commit and nothing else.
func TestChainCostsOneCommitPerStep(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		rt := e.Start(registry(e.T))
		synctest.Wait() // until the node is parked in its fetches
		key := e.Create("chain", "Chain", 100)
		enginetest.Output[int](e, key)
		s := rt.Stats()
		if commits := 1 + s.TurnsCommitted; commits > 102 || s.TurnsFast != 100 || s.TasksHandedOff != 100 || s.TasksFetched != 0 {
			e.T.Errorf("%d commits with the creation; %+v", commits, s)
		}
		if s.ColdReplays != 0 || s.StorageErrors != 0 || s.TurnsConflicted != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

// The fast path obeys the inbox: what comes while a chain runs is seen within one step,
// also by a node whose fetches are slow: then the chain waits for them.
func TestHazard03_ChainSeesEventsWithinOneStep(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]bool{"fetching": false, "slow to fetch": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				var steps enginetest.Notes[int]
				created, sent := make(chan provider.UUID, 1), make(chan struct{})
				node := &slowFetch{Provider: e.Store, until: make(chan struct{})}
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "step", func(_ context.Context, n int) (none, error) {
					steps.Add(n)
					if n == 50 {
						node.slow.Store(slow)
						offer(e, <-created, 1) //nolint:contextcheck // the test sends, not the activity
						close(sent)
					}
					return none{}, nil
				})
				enginetest.Orchestration(e.T, reg, "loop", func(ctx *octx, _ none) (int, error) {
					box := orchestration.Events[int](ctx, "box")
					for i := range 100 {
						if _, err := orchestration.CallActivityNamed[none](ctx, "step", i); err != nil {
							return 0, err
						}
						if _, ok, err := box.TryReceive(); ok || err != nil {
							return i, err
						}
					}
					return 0, errors.New("the chain starved the inbox")
				})
				e.StartOn(node, reg, e.Options)
				key := e.Create("loop", "loop", none{})
				created <- key
				<-sent
				synctest.Wait()
				if n := len(steps.All()); n > 52 {
					e.T.Errorf("%d steps were made past the event", n-51)
				}
				close(node.until)
				if got := enginetest.Output[int](e, key); got > 51 {
					e.T.Errorf("sent during step 50, seen after step %d", got)
				}
			})
		})
	}
}

// slowFetch is a store whose answers with turns come late, once that is asked for.
type slowFetch struct {
	provider.Provider

	slow  atomic.Bool
	until chan struct{}
}

func (s *slowFetch) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := s.Provider.FetchTurns(ctx, req)
	if s.slow.Load() {
		<-s.until
	}
	return res, err
}

// A task that was lost with its node before takes no short cut: its turn is fetched, so
// that it counts should it be what kills the nodes.
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

// lose takes a task as a node would that dies at once.
func lose(e *enginetest.Engine, name string, lease time.Duration) {
	e.T.Helper()
	res, err := e.Store.FetchTasks(e.T.Context(), provider.FetchTasksRequest{
		Owner: "dead", Token: enginetest.NewID(), Lease: lease, Max: 1, Wait: time.Minute,
		Queues: []provider.QueueFilter{{Queue: orchestration.DefaultQueue, Names: []string{name}}},
	})
	if err != nil || len(res.Tasks) != 1 {
		e.T.Fatalf("took %d tasks: %v", len(res.Tasks), err)
	}
}

// Hand-off does not jump the queue: a task that waits runs before those that a busy node
// would hand itself.
func TestHazard22_HandOffDoesNotStarveTheQueue(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 4}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		ran := make(chan struct{})
		enginetest.Activity(e.T, reg, "old", func(context.Context, none) (none, error) {
			close(ran)
			return none{}, nil
		})
		enginetest.Activity(e.T, reg, "slow", func(ctx context.Context, _ none) (none, error) {
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "one", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivityNamed[none](ctx, "old", none{})
		})
		enginetest.Orchestration(e.T, reg, "chain", func(ctx *octx, n int) (int, error) {
			for range n {
				if _, err := orchestration.CallActivityNamed[none](ctx, "slow", none{}); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		e.Start(reg)
		for i := range 20 {
			e.Create(fmt.Sprint("chain", i), "chain", 1000)
		}
		e.Create("one", "one", none{})
		began := time.Now()
		<-ran
		if waited := time.Since(began); waited > 30*time.Second {
			e.T.Errorf("the task waited %v", waited)
		}
		for i := range 20 {
			res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: fmt.Sprint("chain", i)})
			if err != nil {
				e.T.Fatal(err)
			}
			e.Terminate(res.Instance.Key, "enough")
		}
	})
}

// One slot of each kind is enough to make progress.
func TestOneSlotIsEnough(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Options.MaxConcurrentTurns, e.Options.MaxConcurrentActivities = 1, 1
		e.Start(registry(e.T))
		a, b := e.Create("a", "Chain", 20), e.Create("b", "Chain", 20)
		began := time.Now()
		enginetest.Output[int](e, a)
		enginetest.Output[int](e, b)
		if took := time.Since(began); took > time.Second {
			e.T.Errorf("took %v", took)
		}
	})
}
