package routing

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A rate record may lie further ahead than any node can have reserved, because the store's clock was set back or the
// rate was raised. It does not delay the queue.
func TestQueueRateSurvivesItsRecord(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{QueueLimits: limit(runtime.QueueLimit{PerSecond: 10})}, func(e *engine) {
		ahead := provider.TimeOf(time.Now().Add(24 * time.Hour))
		if _, err := e.Store.Record(t.Context(), provider.RecordRequest{
			Action: provider.RecordPut, Namespace: "perdure.rate", Key: orchestration.DefaultQueue,
			Value: binary.BigEndian.AppendUint64(nil, uint64(ahead)),
		}); err != nil {
			t.Fatal(err)
		}
		var all starts
		reg := runtime.NewRegistry()
		enginetest.Activity(t, reg, "work", all.work(time.Millisecond))
		flood(e, 1, 50)
		e.Start(reg)
		rest(10 * time.Second)
		if n := len(all.All()); n != 50 {
			t.Errorf("%d of 50 began in 10 s at 10 a second", n)
		}
	})
}

// A throttled activity does not begin if it is cancelled or its execution ends first.
func TestThrottledActivityHearsOfItsCancellation(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		enginetest.Bubble(t, runtime.Options{QueueLimits: limit(runtime.QueueLimit{PerSecond: 2})}, func(e *engine) {
			reg := runtime.NewRegistry()
			var began enginetest.Notes[int]
			enginetest.Activity(t, reg, "work", func(_ context.Context, n int) (int, error) {
				began.Add(n)
				return n, nil
			})
			enginetest.Orchestration(t, reg, "main", func(ctx *octx, _ int) (none, error) {
				if _, err := orchestration.CallActivityNamed[int](ctx, "work", 1); err != nil {
					return none{}, err
				}
				if err := ctx.Sleep(420 * time.Millisecond); err != nil { // the next moment is after 500 ms
					return none{}, err
				}
				second := orchestration.StartActivityNamed[int](ctx, "work", 2)
				if err := ctx.Sleep(30 * time.Millisecond); err != nil || ends {
					return none{}, err
				}
				second.Cancel()
				return none{}, ctx.Sleep(time.Minute)
			})
			e.Start(reg)
			e.WaitEnded(e.Create("one", "main", 0))
			rest(time.Minute)
			if all := began.All(); len(all) != 1 {
				t.Errorf("the execution ended %t: %v began", ends, all)
			}
		})
	}
}

// A flooded queue with a rate limit leaves the slots to others on any number of nodes, and keeps its rate.
func TestThrottledQueueLeavesTheSlots(t *testing.T) {
	t.Parallel()
	limits := map[string]runtime.QueueLimit{"slow": {PerSecond: 10}}
	enginetest.Bubble(t, runtime.Options{QueueLimits: limits, MaxConcurrentActivities: 2}, func(e *engine) {
		var slow, fast starts
		reg := runtime.NewRegistry()
		enginetest.Orchestration(t, reg, "both", func(ctx *octx, n int) (none, error) {
			var all []orchestration.Future[int]
			for i := range n {
				all = append(all, orchestration.StartActivityNamed[int](ctx, "fast", i),
					orchestration.StartActivityNamed[int](ctx, "slow", i, orchestration.WithQueue("slow")))
			}
			_, err := all[0].Get(ctx)
			return none{}, errors.Join(err, ctx.Sleep(2*time.Second))
		})
		e.StartOn(e.Store, reg, runtime.Options{})
		e.Create("one", "both", 800)
		for range 8 {
			worker := runtime.NewRegistry()
			enginetest.Activity(t, worker, "fast", fast.work(50*time.Millisecond))
			enginetest.Activity(t, worker, "slow", slow.work(50*time.Millisecond), runtime.OnQueue("slow"))
			e.Start(worker)
		}
		rest(2 * time.Second)
		if n := len(fast.All()); n < 450 {
			t.Errorf("%d began where nothing is limited; in 2 s there is room for 640 less what the other queue runs", n)
		}
		if n := len(slow.All()); n < 19 || n > 22 {
			t.Errorf("%d began in 2 s at 10 a second", n)
		}
	})
}
