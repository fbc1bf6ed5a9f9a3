package dispatcher_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
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
		if commits := 1 + s.TurnsCommitted; commits != 102 || s.TurnsFast != 100 || s.TasksHandedOff != 100 || s.TasksFetched != 0 {
			e.T.Errorf("%d commits with the creation; %+v", commits, s)
		}
		if s.ColdReplays != 0 || s.StorageErrors != 0 || s.TurnsConflicted != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

// The fast path obeys the inbox. A message that comes while a chain runs is seen within one step. If fetches are slow,
// the chain waits for them.
func TestHazard03_ChainSeesEventsWithinOneStep(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]bool{"fetching": false, "slow to fetch": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				var steps enginetest.Notes[int]
				created, sent := make(chan provider.UUID, 1), make(chan struct{})
				node := &slowFetch{Full: e.Store, until: make(chan struct{})}
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

// slowFetch is a store whose responses with turns come late once it is told to.
type slowFetch struct {
	*provider.Full

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

// A message that this node has sent to an instance precedes a result from memory, although the last commit did not know
// of it. Here it is the end of a child. A timer that has become due precedes the result, too.
func TestHazard03_ResultWaitsForWhatCameBefore(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"child", "timer"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				node := &slowFetch{Full: e.Store, until: make(chan struct{})}
				finish := make(chan struct{})
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "work", func(context.Context, none) (none, error) {
					<-finish
					return none{}, nil
				})
				enginetest.Activity(e.T, reg, "short", func(context.Context, none) (none, error) {
					time.Sleep(time.Minute) //nolint:forbidigo // virtual time
					return none{}, nil
				})
				enginetest.Orchestration(e.T, reg, "kid", func(ctx *octx, _ none) (none, error) {
					return orchestration.CallActivityNamed[none](ctx, "short", none{})
				})
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
					work := orchestration.StartActivityNamed[none](ctx, "work", none{})
					var other orchestration.Future[none]
					if first == "child" {
						other = orchestration.StartOrchestrationNamed[none](ctx, "kid", none{})
					} else {
						other = orchestration.StartTimer(ctx, time.Minute)
					}
					index, err := orchestration.Select(ctx, other, work)
					if err != nil {
						return "", err
					}
					return []string{first, "work"}[index], ctx.Sleep(time.Second)
				})
				rt := e.StartOn(node, reg, e.Options)
				synctest.Wait()
				key := e.Create("main", "main", none{})
				synctest.Wait()
				node.slow.Store(true)
				time.Sleep(2 * time.Minute) //nolint:forbidigo // virtual time: the other has come, and the node does not hear of it
				close(finish)
				synctest.Wait()
				fast := rt.Stats().TurnsFast
				time.Sleep(time.Second) //nolint:forbidigo // virtual time
				close(node.until)
				if got := enginetest.Output[string](e, key); got != first {
					e.T.Errorf("first was %s", got)
				}
				if first == "timer" && fast != 0 || fast > 1 {
					e.T.Errorf("%d fast turns", fast)
				}
				results(e, key)
			})
		})
	}
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

// A node that makes one turn at a time has the short cut, too: its parked fetch keeps no slot from it.
func TestOneTurnSlotTakesTheShortCut(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 1}, func(e *enginetest.Engine) {
		rt := e.Start(registry(e.T))
		synctest.Wait()
		began := time.Now()
		enginetest.Output[int](e, e.Create("chain", "Chain", 100))
		if s := rt.Stats(); s.TurnsFast != 100 || time.Since(began) != 0 {
			e.T.Errorf("took %v; %+v", time.Since(began), s)
		}
	})
}

// windowStore is a store in which something happens between a commit and the moment at which the engine hears of it.
type windowStore struct {
	slowFetch

	armed  atomic.Bool // for the next commit of the instance
	key    provider.UUID
	happen func()
}

func (s *windowStore) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	res, err := s.Provider.CommitTurn(ctx, req)
	if req.Key == s.key && s.armed.Swap(false) {
		s.happen()
	}
	return res, err
}

// A message of this node comes right after a commit, before the engine has heard of the commit. Results from memory do
// not pass it, although the commit did not know of it.
func TestHazard03_MessageRightAfterACommitIsNotPassed(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const step = 50
		end, passed := make(chan struct{}), make(chan struct{})
		var steps enginetest.Notes[int]
		node := &windowStore{slowFetch: slowFetch{Full: e.Store, until: make(chan struct{})}}
		node.happen = func() { // the child ends, and this node puts that into the parent's inbox
			close(end)
			synctest.Wait()
			close(passed)
		}
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "wait", func(context.Context, none) (none, error) {
			<-end
			return none{}, nil
		})
		enginetest.Activity(e.T, reg, "step", func(_ context.Context, n int) (none, error) {
			steps.Add(n)
			if n == step {
				node.slow.Store(true)
				node.armed.Store(true)
			}
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivityNamed[none](ctx, "wait", none{})
		})
		enginetest.Orchestration(e.T, reg, "parent", func(ctx *octx, _ none) (int, error) {
			child := orchestration.StartOrchestrationNamed[none](ctx, "child", none{})
			if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
				return 0, err
			}
			for i := range 2 * step {
				if _, err := orchestration.CallActivityNamed[none](ctx, "step", i); err != nil {
					return 0, err
				}
				if child.Ready() {
					return i, nil
				}
			}
			return 0, errors.New("the chain starved the inbox")
		})
		e.StartOn(node, reg, e.Options)
		key := e.Create("parent", "parent", none{})
		synctest.Wait() // until the child runs its activity
		node.key = key
		e.Raise(key, "go", 1)
		<-passed
		synctest.Wait()
		if n := len(steps.All()); n > step+2 {
			e.T.Errorf("%d steps were made past the message", n-step-1)
		}
		close(node.until)
		if got := enginetest.Output[int](e, key); got > step+1 {
			e.T.Errorf("sent after step %d, seen after step %d", step, got)
		}
	})
}
