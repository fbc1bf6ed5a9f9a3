package dispatcher_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Hand-off does not jump the queue: a task that waits runs before those that a busy node
// would hand itself.
func TestHazard22_HandOffDoesNotStarveTheQueue(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 4}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		const waiting = 8 // tasks that wait with the chains
		ran := make(chan struct{}, waiting)
		enginetest.Activity(e.T, reg, "old", func(context.Context, none) (none, error) {
			ran <- struct{}{}
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
		began := time.Now()
		for i := range waiting {
			e.Create(fmt.Sprint("one", i), "one", none{})
		}
		for range waiting {
			<-ran
		}
		if waited := time.Since(began); waited > 30*time.Second {
			e.T.Errorf("the last task waited %v", waited)
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

// One commit hands itself half of the slots that are free, and leaves the rest to the queue.
func TestHazard22_HandOffTakesHalfOfTheSlots(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]int64{1: 1, 2: 1, 4: 2, 8: 4, 20: 10, 200: 100} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: slots}, func(e *enginetest.Engine) {
				finish := make(chan struct{})
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "work", func(context.Context, none) (none, error) {
					<-finish
					return none{}, nil
				})
				enginetest.Orchestration(e.T, reg, "wide", func(ctx *octx, n int) (none, error) {
					futures := make([]orchestration.Future[none], n)
					for i := range futures {
						futures[i] = orchestration.StartActivityNamed[none](ctx, "work", none{})
					}
					_, err := orchestration.All(ctx, futures...)
					return none{}, err
				})
				rt := e.Start(reg)
				synctest.Wait()
				key := e.Create("wide", "wide", 300)
				synctest.Wait()
				if s := rt.Stats(); s.TasksHandedOff != want {
					e.T.Errorf("%d tasks were handed off, want %d", s.TasksHandedOff, want)
				}
				close(finish)
				enginetest.Output[none](e, key)
			})
		})
	}
}

// turnKinds is a store that counts the fast turns in a row of each instance while it is on.
type turnKinds struct {
	*provider.Full

	mu   sync.Mutex
	on   bool
	row  map[provider.UUID]int
	most int
}

func (k *turnKinds) turn(on bool) {
	k.mu.Lock()
	k.on, k.row = on, map[provider.UUID]int{}
	k.mu.Unlock()
}

func (k *turnKinds) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	k.mu.Lock()
	switch {
	case !k.on:
	case req.Lease.IsZero():
		k.row[req.Key]++
		k.most = max(k.most, k.row[req.Key])
	default:
		k.row[req.Key] = 0
	}
	k.mu.Unlock()
	return k.Provider.CommitTurn(ctx, req)
}

// While turns wait for a slot, an execution makes 16 fast turns in a row at most, and then queues behind them.
func TestHazard22_ExecutionGivesWay(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 1}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "chain", func(ctx *octx, n int) (none, error) {
			for range n {
				if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
					return none{}, err
				}
				time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time, and turns are to take some
			}
			return none{}, nil
		})
		node := &turnKinds{Full: e.Store}
		e.StartOn(node, reg, e.Options)
		synctest.Wait()
		for i := range 5 {
			e.Create(fmt.Sprint("chain", i), "chain", 400)
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual time
		node.turn(true)
		var short []provider.UUID
		for i := range 200 {
			short = append(short, e.Create(fmt.Sprint("short", i), "chain", 0))
			time.Sleep(5 * time.Millisecond) //nolint:forbidigo // virtual time
		}
		for _, key := range short {
			enginetest.Output[none](e, key)
		}
		node.turn(false)
		// A few more are made while the turn loop fetches and so does not wait.
		if node.most < 8 || node.most > 24 {
			e.T.Errorf("%d fast turns in a row", node.most)
		}
	})
}
