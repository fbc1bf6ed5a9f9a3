package heartbeats

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

var again = orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond})

// steps reports each of three steps twice and then fails as fail decides. The next attempt continues after the last
// reported step. steps notes where attempts began.
func steps(begun *enginetest.Notes[any], fail func(ctx context.Context, step int) error) func(context.Context, int) (int, error) {
	return func(ctx context.Context, _ int) (int, error) {
		done, _, err := activity.HeartbeatDetails[int](ctx)
		begun.Add(done)
		for step := done + 1; err == nil && step <= 3; step++ {
			_ = activity.Heartbeat(ctx, -step) // stored at once
			_ = activity.Heartbeat(ctx, step)  // throttled
			err = fail(ctx, step)
		}
		return 3, err
	}
}

func ended(e *engine, begun *enginetest.Notes[any], want ...any) {
	e.T.Helper()
	got := begun.All()
	if len(got) != len(want) {
		e.T.Fatalf("attempts began after %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			e.T.Errorf("attempts began after %v, want %v", got, want)
		}
	}
}

// The last details of an attempt reach the next one on any node, although the throttle held them back.
func TestHeartbeating_DetailsSurviveAnAttempt(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *engine) {
		var begun enginetest.Notes[any]
		reg := registry(e, steps(&begun, func(context.Context, int) error { return errDeclined }), nil, again)
		e.Start(reg)
		if got := enginetest.Output[int](e, e.Create("main", "main", 1)); got != 3 {
			e.T.Errorf("got %d", got)
		}
		ended(e, &begun, 0, 1, 2, 3)
	})
}

// A node that shuts down stores the last details.
func TestHeartbeating_DetailsSurviveAShutdown(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{Shutdown: runtime.ShutdownOptions{DrainTimeout: runtime.Off}}, func(e *engine) {
		var begun enginetest.Notes[any]
		at := make(chan int, 3)
		reg := registry(e, steps(&begun, func(ctx context.Context, step int) error {
			at <- step
			if step < 3 && len(begun.All()) == step {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}), nil, again)
		key := e.Create("main", "main", 1)
		for range 2 {
			rt := e.Start(reg)
			<-at
			e.Stop(rt)
		}
		e.Start(reg)
		enginetest.Output[int](e, key)
		ended(e, &begun, 0, 1, 2)
	})
}

// Details that the store failed to take are reported together with the failure.
func TestHeartbeating_DetailsSurviveTheStoresFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faulty.Rule{
		"away":            {Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Before},
		"in flight":       {Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Delay, Delay: 2 * time.Second},
		"with no answer":  {Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.After},
		"now and then so": {Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Before, Probability: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
				plan := faulty.NewPlan(1)
				plan.Add(rule)
				var begun enginetest.Notes[any]
				reg := registry(e, func(ctx context.Context, _ int) (int, error) {
					done, _, err := activity.HeartbeatDetails[int](ctx)
					begun.Add(done)
					if done == 3 || err != nil {
						return done, err
					}
					_ = activity.Heartbeat(ctx, done+1)
					_ = await(ctx, time.Second) // it is in flight now
					return 0, errDeclined
				}, nil, again)
				e.StartOn(faulty.Wrap(e.Store, plan), reg, e.Options)
				enginetest.Output[int](e, e.Create("main", "main", 1))
				ended(e, &begun, 0, 1, 2, 3)
			})
		})
	}
}

// A lost node loses the details that the throttle held back, and nothing that was due before.
func TestHeartbeating_LostNodeLosesOneThrottle(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		var begun enginetest.Notes[any]
		work := func(ctx context.Context, _ int) (int, error) {
			done, _, err := activity.HeartbeatDetails[int](ctx)
			if n := begun.Add(done); n == 2 {
				return done, err
			}
			for i := 1; ; i++ {
				_ = activity.Heartbeat(ctx, i)
				if err := await(ctx, time.Second); err != nil {
					return 0, err
				}
			}
		}
		key := e.Create("main", "main", 1)
		lost := registry(e, work, nil, orchestration.WithHeartbeatTimeout(10*time.Second))
		e.StartOn(away(e.Store, 25*time.Second, time.Hour), lost, e.Options) // its lease expires, too
		e.Until("it runs", func() bool { return len(begun.All()) == 1 })
		e.Start(lost)
		enginetest.Output[int](e, key)
		if at, ok := begun.All()[1].(int); !ok || at < 16 || at > 26 {
			e.T.Errorf("went on after %v", begun.All())
		}
	})
}
