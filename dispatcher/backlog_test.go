package dispatcher_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// begun is an attempt: when it began, since when its task could be fetched, and its rank.
type begun struct{ at, since, rank time.Time }

// slowQueue is a store whose fetches of tasks take their time, before and after they look.
type slowQueue struct {
	provider.Provider

	each time.Duration
}

func (s slowQueue) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	pause(ctx, s.each)
	res, err := s.Provider.FetchTasks(ctx, req)
	if len(res.Tasks) > 0 || req.Wait == 0 {
		time.Sleep(s.each) //nolint:forbidigo // virtual time
	}
	return res, err
}

// slowGroups is a slowQueue that stores turns in ten milliseconds, any number at the same time, and fetches turns in one.
type slowGroups struct{ slowQueue }

func (g slowGroups) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	time.Sleep(10 * time.Millisecond) //nolint:forbidigo // virtual time
	return g.slowQueue.CommitTurn(ctx, req)
}

func (g slowGroups) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := g.slowQueue.FetchTurns(ctx, req)
	time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time
	return res, err
}

// Under a standing backlog the oldest goes first, of all queues and by priority, although every commit could hand its own tasks to the node.
// No task begins while one has waited for more than two fetches that ranks before it.
func TestHazard22_OldestGoesFirstUnderABacklog(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const each = 3 * time.Millisecond // of half a fetch
	for round := range uint64(10) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, round))
			slots := 1 + random.IntN(12)
			enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: slots}, func(e *enginetest.Engine) {
				var mu sync.Mutex
				var all []begun
				work := func(ctx context.Context, in [2]int) (none, error) {
					info := activity.GetInfo(ctx)
					earlier := provider.PriorityDefault - in[1]
					mu.Lock()
					all = append(all, begun{time.Now(), info.Scheduled, info.Scheduled.Add(provider.PriorityStep * time.Duration(-earlier))})
					mu.Unlock()
					time.Sleep(time.Duration(in[0]) * time.Millisecond) //nolint:forbidigo // virtual time
					return none{}, nil
				}
				reg := runtime.NewRegistry()
				queues := []string{standard, "other"}
				for _, queue := range queues {
					enginetest.Activity(e.T, reg, "work-"+queue, work, runtime.OnQueue(queue))
				}
				enginetest.Orchestration(e.T, reg, "chain", func(ctx *octx, plan [][3]int) (none, error) {
					for _, p := range plan {
						queue := queues[p[1]]
						_, err := orchestration.CallActivityNamed[none](ctx, "work-"+queue, [2]int{p[0], p[2]},
							orchestration.WithQueue(queue), orchestration.WithPriority(p[2]))
						if err != nil {
							return none{}, err
						}
					}
					return none{}, nil
				})
				e.StartOn(slowQueue{e.Store, each}, reg, e.Options)
				var keys []provider.UUID
				steps := 0
				for i := range 6 * slots {
					plan := make([][3]int, 1+random.IntN(8))
					for j := range plan {
						plan[j] = [3]int{2 + 2*random.IntN(50), random.IntN(2), provider.PriorityDefault}
						if random.IntN(8) == 0 {
							plan[j][2] = 1 + random.IntN(5)
						}
					}
					steps += len(plan)
					keys = append(keys, e.Create(fmt.Sprint(i), "chain", plan))
					time.Sleep(time.Duration(2*random.IntN(5)) * time.Millisecond) //nolint:forbidigo // virtual time
				}
				for _, key := range keys {
					e.WaitEnded(key)
				}
				if len(all) != steps {
					e.T.Errorf("%d attempts of %d activities", len(all), steps)
				}
				for _, a := range all {
					for _, b := range all {
						const window = 4 * each
						if b.rank.Before(a.rank.Add(-window)) && b.since.Before(a.at.Add(-window)) && b.at.After(a.at.Add(window)) {
							e.T.Fatalf("a task of rank %v began at %v, before one of rank %v that waited since %v and began at %v",
								a.rank, a.at, b.rank, b.since, b.at)
						}
					}
				}
			})
		})
	}
}

// However many orchestrations wait, the steps of those that have begun are handed off. A burst of activities that fills the queue changes
// that only until the queue is empty again. In a few runs of a hundred, tasks that began together stay together: they fill each fetch, so
// that more seem to wait. So two runs of three must show it.
func TestBacklogIsHandedOff(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	const backlog = 1000
	for _, burst := range []int{0, 1000} {
		t.Run(fmt.Sprint(burst), func(t *testing.T) {
			t.Parallel()
			for good, bad := 0, 0; good < 2; {
				own := fetchedAtBacklog(t, backlog, burst)
				if own <= 5*backlog/10 {
					good++
					continue
				}
				if bad++; bad == 2 {
					t.Fatalf("%d tasks of the chains were fetched from the queue", own)
				}
			}
		})
	}
}

// fetchedAtBacklog runs waiting chains of five steps and a burst, and returns how many tasks of the chains went through the queue.
func fetchedAtBacklog(t *testing.T, backlog, burst int) (own int64) {
	t.Helper()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		new(spans).add(e.T, reg, 0)
		enginetest.Activity(e.T, reg, "burst", func(_ context.Context, n int) (int, error) { return n, nil })
		fan(e, reg, "fan", call{"burst", standard})
		var keys []provider.UUID
		if burst > 0 {
			keys = append(keys, e.Create("burst", "fan", burst))
		}
		for i := range backlog {
			keys = append(keys, e.Create(fmt.Sprint(i), "five", none{}))
		}
		rt := e.StartOn(slowGroups{slowQueue{e.Store, 3 * time.Millisecond}}, reg, e.Options)
		for _, key := range keys {
			e.WaitEnded(key)
		}
		s := rt.Stats()
		e.T.Logf("%d handed off, %d fetched", s.TasksHandedOff, s.TasksFetched)
		own = s.TasksFetched - int64(burst)
	})
	return own
}
