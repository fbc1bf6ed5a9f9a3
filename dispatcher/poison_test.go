package dispatcher_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A task that keeps killing its nodes ends its call with ErrPoisoned, whatever the retry policy says. It stays in the
// dead letters. The limit counts lost deliveries, not failures.
func TestHazard13_PoisonedTaskEndsItsCall(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{PoisonLimit: 3}, func(e *enginetest.Engine) {
		turns, worker := separate(e, func(context.Context, int) (int, error) { return 1, nil },
			orchestration.WithRetry(orchestration.RetryPolicy{}))
		e.Start(turns)
		key := e.Create("single", "single", 1)
		for range 3 {
			lose(e, "work", time.Second)
		}
		e.Start(worker)
		_, err := enginetest.Result[int](e, key, nil)
		if !errors.Is(err, orchestration.ErrPoisoned) || !failure.IsNonRetryable(err) || !strings.Contains(err.Error(), "3 times") {
			e.T.Errorf("the call ended with %v", err)
		}
		dead := deadLetters(e)
		if len(dead) != 1 || !dead[0].Task || dead[0].Name != "work" || dead[0].InstanceID != "single" || !strings.Contains(dead[0].Reason, "3 times") {
			e.T.Errorf("dead letters %+v", dead)
		}
		results(e, key)
	})
}

// One delivery fewer, and the task runs.
func TestTaskBelowThePoisonLimitRuns(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{PoisonLimit: 3}, func(e *enginetest.Engine) {
		var deliveries enginetest.Notes[activity.Info]
		turns, worker := separate(e, func(ctx context.Context, n int) (int, error) {
			deliveries.Add(activity.GetInfo(ctx))
			return n, nil
		})
		e.Start(turns)
		key := e.Create("single", "single", 1)
		for range 2 {
			lose(e, "work", time.Second)
		}
		e.Start(worker)
		enginetest.Output[int](e, key)
		if all := deliveries.All(); len(all) != 1 || all[0].Deliveries != 3 || all[0].Attempt != 1 {
			e.T.Errorf("%+v", all)
		}
	})
}

// loseTurn takes an instance as a node would that dies at once.
func loseTurn(e *enginetest.Engine, name string, lease time.Duration) {
	e.T.Helper()
	res, err := e.Store.FetchTurns(e.T.Context(), provider.FetchTurnsRequest{
		Owner: "dead", Token: enginetest.NewID(), Lease: lease, Max: 1, Wait: time.Minute, EngineLevel: replay.EngineLevel,
		Capabilities: []provider.Capability{{Name: name}},
	})
	if err != nil || len(res.Turns) != 1 {
		e.T.Fatalf("took %d turns: %v", len(res.Turns), err)
	}
}

// An instance whose turns keep killing their nodes is Blocked. Its waiters hear so at once. It keeps its messages and
// makes no turns until a person unblocks or ends it.
func TestHazard13_PoisonedInstanceIsBlocked(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"unblock", "terminate"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{PoisonLimit: 3}, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "receive", func(ctx *octx, _ none) (int, error) {
					return orchestration.Events[int](ctx, "box").Receive(ctx)
				})
				key := e.Create("receive", "receive", none{})
				for range 3 {
					loseTurn(e, "receive", time.Second)
				}
				heard := make(chan time.Time)
				go func() {
					if _, err := e.Store.Get(e.T.Context(), provider.GetRequest{
						Key: key, WaitEnded: true, WaitBlocked: true, Wait: time.Minute,
					}); err != nil {
						e.T.Error(err)
					}
					heard <- time.Now()
				}()
				synctest.Wait()
				rt := e.Start(reg)
				at := <-heard
				i := e.WaitBlocked(key, 1)
				b := i.Blocked
				if b.Reason != "poisoned" || b.Count != 1 || b.RetryAt != 0 || !strings.Contains(b.Message, "3 turns") || i.Status != provider.StatusRunning {
					e.T.Errorf("%+v", b)
				}
				if late := at.Sub(b.Since.Std()); late > 0 {
					e.T.Errorf("who waited heard %v later", late)
				}
				if !offer(e, key, 5) {
					e.T.Error("a blocked instance takes events")
				}
				time.Sleep(longtest.Pick(time.Hour, 24*time.Hour)) //nolint:forbidigo // virtual time
				if i := e.Get(key); i.InboxMessages != 2 || rt.Stats().TurnsFetched != 1 {
					e.T.Errorf("%d messages wait; %+v", i.InboxMessages, rt.Stats())
				}
				if way == "terminate" {
					e.Terminate(key, "enough")
					if i := e.WaitEnded(key); i.Status != provider.StatusTerminated || i.Blocked != nil {
						e.T.Errorf("%+v", i)
					}
					return
				}
				e.Steer(key, provider.SteerUnblock)
				if got := enginetest.Output[int](e, key); got != 5 {
					e.T.Errorf("got %d", got)
				}
			})
		})
	}
}
