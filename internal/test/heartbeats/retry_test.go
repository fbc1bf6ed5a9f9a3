package heartbeats

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// After five failed attempts the call fails with the error of the fifth.
func TestRetryOnError(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *engine) {
		var begun enginetest.Notes[any]
		reg := registry(e, func(ctx context.Context, _ int) (int, error) {
			n := activity.GetInfo(ctx).Attempt
			begun.Add(n)
			return 0, fmt.Errorf("attempt %d: %w", n, errDeclined)
		}, nil, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5, InitialInterval: time.Millisecond}))
		e.Start(reg)
		_, err := enginetest.Result[int](e, e.Create("main", "main", 1), reg.Errors())
		if !errors.Is(err, errDeclined) || err.Error() != "attempt 5: declined" {
			e.T.Errorf("ended with %v", err)
		}
		ended(e, &begun, 1, 2, 3, 4, 5)
	})
}

// begins runs an activity that always fails with the error of fail. It returns when the attempts began, counted from
// the call.
func begins(e *engine, fail func(attempt int) error, p orchestration.RetryPolicy) (at []time.Duration, err error) {
	e.T.Helper()
	var began enginetest.Notes[time.Duration]
	call := time.Now()
	p.Jitter = orchestration.Off
	reg := registry(e, func(ctx context.Context, _ int) (int, error) {
		began.Add(time.Since(call))
		return 0, fail(activity.GetInfo(ctx).Attempt)
	}, nil, orchestration.WithRetry(p))
	e.Start(reg)
	_, err = enginetest.Result[int](e, e.Create("main", "main", 1), reg.Errors())
	return began.All(), err
}

func about(e *engine, got []time.Duration, want ...time.Duration) {
	e.T.Helper()
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && got[i] >= want[i] && got[i] < want[i]+50*time.Millisecond
	}
	if !ok {
		e.T.Errorf("attempts began at %v, want %v", got, want)
	}
}

// The error of an attempt may set the delay before the next one, once and of any length, however it is wrapped. The
// rest of the policy still applies.
func TestRetryAfterGoesBeforeThePolicy(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		fail   func(attempt int) error
		policy orchestration.RetryPolicy
		want   []time.Duration
	}{
		"later than the longest interval, once": {func(n int) error {
			if n == 2 {
				return fmt.Errorf("busy: %w", errors.Join(errDeclined, activity.RetryAfter(errDeclined, time.Hour)))
			}
			return errDeclined
		}, orchestration.RetryPolicy{MaxAttempts: 4, Coefficient: 1}, []time.Duration{0, s, s + time.Hour, 2*s + time.Hour}},
		"sooner": {func(int) error {
			return activity.RetryAfter(errDeclined, 10*s)
		}, orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Hour}, []time.Duration{0, 10 * s}},
		"at once": {func(int) error {
			return activity.RetryAfter(errDeclined, -1)
		}, orchestration.RetryPolicy{MaxAttempts: 3}, []time.Duration{0, 0, 0}},
		"not against non-retryable": {func(int) error {
			return activity.RetryAfter(orchestration.NonRetryable(errDeclined), s)
		}, orchestration.RetryPolicy{MaxAttempts: 3}, []time.Duration{0}},
		"not against a type": {func(int) error {
			return activity.RetryAfter(errDeclined, s)
		}, orchestration.RetryPolicy{NonRetryable: []string{"declined"}}, []time.Duration{0}},
		"not beyond the time": {func(int) error {
			return activity.RetryAfter(errDeclined, 7*s)
		}, orchestration.RetryPolicy{MaxElapsed: 20 * s}, []time.Duration{0, 7 * s, 14 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
				got, err := begins(e, c.fail, c.policy)
				about(e, got, c.want...)
				if !errors.Is(err, errDeclined) {
					e.T.Errorf("ended with %v", err)
				}
			})
		})
	}
}

// No attempt but the first begins after MaxElapsed. The call fails with the error of the last attempt.
func TestMaxElapsedBoundsRetries(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		call := time.Now()
		got, err := begins(e, func(n int) error { return fmt.Errorf("attempt %d: %w", n, errDeclined) },
			orchestration.RetryPolicy{MaxElapsed: 7 * time.Second})
		about(e, got, 0, time.Second, 3*time.Second, 7*time.Second)
		if took := time.Since(call); took > 8*time.Second {
			e.T.Errorf("waited %v for an attempt that comes too late", took)
		}
		if !errors.Is(err, errDeclined) || err.Error() != "attempt 4: declined" {
			e.T.Errorf("ended with %v", err)
		}
	})
}

// A first attempt begins however late it is, and is then the only one.
func TestMaxElapsedLetsTheFirstBegin(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 1}, func(e *engine) {
		var begun enginetest.Notes[any]
		reg := registry(e, func(ctx context.Context, n int) (int, error) {
			begun.Add(n)
			if n == 1 {
				return n, await(ctx, time.Minute)
			}
			return 0, errDeclined
		}, nil, orchestration.WithRetry(orchestration.RetryPolicy{MaxElapsed: time.Second}))
		e.Start(reg)
		first := e.Create("first", "main", 1)
		e.Until("it runs", func() bool { return len(begun.All()) == 1 })
		second := e.Create("second", "main", 2)
		if got := enginetest.Output[int](e, first); got != 1 {
			e.T.Errorf("got %d", got)
		}
		if _, err := enginetest.Result[int](e, second, reg.Errors()); !errors.Is(err, errDeclined) {
			e.T.Errorf("ended with %v", err)
		}
		ended(e, &begun, 1, 2)
	})
}

// An attempt that finds no node in time never begins. The call ends with the failure of the attempt before, even if a
// node comes later.
func TestMaxElapsedBoundsWaiting(t *testing.T) {
	t.Parallel()
	each(t, runtime.Options{}, func(e *engine) {
		var began enginetest.Notes[any]
		worker := runtime.NewRegistry()
		enginetest.Activity(e.T, worker, "work", func(ctx context.Context, _ int) (int, error) {
			n := activity.GetInfo(ctx).Attempt
			began.Add(n)
			return 0, fmt.Errorf("attempt %d: %w", n, errDeclined)
		})
		turns := runtime.NewRegistry()
		enginetest.Orchestration(e.T, turns, "main", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "work", n, orchestration.WithRetry(orchestration.RetryPolicy{
				InitialInterval: 100 * time.Millisecond, MaxElapsed: 5 * time.Second,
			}))
		})
		if err := runtime.AddError(worker, "declined", errDeclined); err != nil {
			e.T.Fatal(err)
		}
		e.Start(turns)
		key := e.Create("main", "main", 1)
		e.Until("it waits", func() bool { return len(e.Tasks(key)) == 1 })
		first := e.StartOn(e.Store, worker, e.Options)
		e.Until("the first has failed", func() bool { return first.Stats().AttemptsRetried > 0 })
		e.Stop(first)
		ran := len(began.All())
		time.Sleep(6 * time.Second) //nolint:forbidigo // the time of the test: virtual, or short
		e.Start(worker)
		_, err := enginetest.Result[int](e, key, worker.Errors())
		if want := fmt.Sprintf("attempt %d: declined", ran); !errors.Is(err, errDeclined) || err.Error() != want || len(began.All()) != ran {
			e.T.Errorf("ended with %v after %v", err, began.All())
		}
		if list := ends(e, caller(e, worker)).Attempts; len(list) != ran || list[ran-1].Number != int64(ran) {
			e.T.Errorf("listed %+v", list)
		}
	})
}

// Timeouts of an attempt are retried as errors are.
func TestWhichTimeoutsRetry(t *testing.T) {
	t.Parallel()
	for kind, option := range map[activity.TimeoutKind]orchestration.ActivityOption{
		activity.StartToClose: orchestration.WithStartToCloseTimeout(time.Second), activity.NoHeartbeat: orchestration.WithHeartbeatTimeout(time.Second),
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
				var begun enginetest.Notes[any]
				reg := registry(e, func(ctx context.Context, _ int) (int, error) {
					begun.Add(activity.GetInfo(ctx).Attempt)
					<-ctx.Done()
					return 0, activity.RetryAfter(context.Cause(ctx), 0)
				}, nil, option, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
				e.Start(reg)
				_, err := enginetest.Result[int](e, e.Create("main", "main", 1), reg.Errors())
				if got, ok := orchestration.TimeoutKind(err); !ok || got != kind {
					e.T.Errorf("ended with %v", err)
				}
				ended(e, &begun, 1, 2, 3)
			})
		})
	}
}
