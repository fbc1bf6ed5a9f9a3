package dispatcher_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// staleOnce is a store that responds once, when told to, as if it had not yet heard that an execution exists.
type staleOnce struct {
	*provider.Full

	fetch    atomic.Bool
	renewal  atomic.Bool
	reported atomic.Int64
}

func (s *staleOnce) missing(state *provider.ExecutionState) {
	s.reported.Add(1)
	*state = provider.ExecutionState{Kind: provider.ExecutionMissing}
}

func (s *staleOnce) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := s.Provider.FetchTasks(ctx, req)
	if len(res.Tasks) > 0 && s.fetch.CompareAndSwap(true, false) {
		s.missing(&res.Tasks[0].State)
	}
	return res, err
}

func (s *staleOnce) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	res, err := s.Provider.RenewTasks(ctx, req)
	if len(res.Items) > 0 && s.renewal.CompareAndSwap(true, false) {
		s.missing(&res.Items[0].State)
	}
	return res, err
}

// A stale response destroys nothing. The storage checks the discard again and releases the task. A result that
// is already there is kept.
func TestHazard14_StaleAnswerDestroysNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fetch, ignores bool
		runs           int
	}{
		"fetched": {true, false, 1}, "running": {false, false, 2}, "running, with a result": {false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				node := &staleOnce{Full: e.Store}
				var runs enginetest.Notes[int]
				turns, worker := separate(e, func(ctx context.Context, n int) (int, error) {
					if runs.Add(n) == 1 && !c.fetch {
						node.renewal.Store(true)
					}
					stop := ctx.Done()
					if c.ignores {
						stop = nil
					}
					select {
					case <-stop:
						return 0, ctx.Err()
					case <-time.After(15 * time.Second):
						return n, nil
					}
				})
				e.Start(turns)
				key := e.Create("single", "single", 7)
				e.Until("it is scheduled", func() bool { return len(e.Tasks(key)) == 1 })
				node.fetch.Store(c.fetch)
				e.StartOn(node, worker, e.Options)
				if got := enginetest.Output[int](e, key); got != 7 {
					e.T.Errorf("got %d", got)
				}
				if n := len(runs.All()); n != c.runs || node.reported.Load() != 1 {
					e.T.Errorf("it ran %d times; %d stale answers", n, node.reported.Load())
				}
				results(e, key)
			})
		})
	}
}
