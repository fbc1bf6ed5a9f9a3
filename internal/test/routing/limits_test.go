package routing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// ended waits for the instance and checks which timeout ended its call, and about when. It returns the text of the
// error.
func ended(e *engine, key provider.UUID, began time.Time, kind activity.TimeoutKind, after time.Duration) (text string) {
	e.T.Helper()
	_, err := enginetest.Result[string](e, key, nil)
	if got, ok := orchestration.TimeoutKind(err); !ok || got != kind || !errors.Is(err, orchestration.ErrTimeout) {
		e.T.Errorf("ended with %v, want the %s timeout", err, kind)
	}
	if took := time.Since(began); took < after-time.Millisecond || took > after+late(e) {
		e.T.Errorf("ended after %v, want %v", took, after)
	}
	return fmt.Sprint(err)
}

// A call that no node takes ends by schedule-to-start, even if no node serves its queue.
func TestHazard30_NobodyTakesIt(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{MaxConcurrentActivities: runtime.Off}, func(e *engine) {
		reg := runtime.NewRegistry()
		limit := unit(e)
		main(e, reg, "missing", orchestration.WithQueue("nobody"), orchestration.WithScheduleToStartTimeout(limit),
			orchestration.WithRetry(orchestration.RetryPolicy{}))
		e.Start(reg)
		began := time.Now()
		ended(e, e.Create("one", "main", ""), began, activity.ScheduleToStart, limit)
	})
}

// Schedule-to-start does not apply to an attempt that has begun, nor to later ones.
func TestStartedInTime(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		reg := runtime.NewRegistry()
		limit := ample(e)
		runs := 0
		enginetest.Activity(e.T, reg, "work", func(context.Context, string) (string, error) {
			rest(limit * 3 / 2)
			if runs++; runs < 3 {
				return "", errors.New("not yet")
			}
			return "done", nil
		})
		main(e, reg, "work", orchestration.WithScheduleToStartTimeout(limit),
			orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: limit * 2, Coefficient: 1}))
		e.Start(reg)
		if got := enginetest.Output[string](e, e.Create("one", "main", "")); got != "done" {
			e.T.Errorf("got %q", got)
		}
	})
}

// Schedule-to-close ends a running attempt through its context, and no policy retries it.
func TestScheduleToCloseEndsAnAttempt(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		reg := runtime.NewRegistry()
		limit := ample(e)
		causes := make(chan error, 10)
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return "", ctx.Err()
		})
		main(e, reg, "work", orchestration.WithScheduleToCloseTimeout(limit), orchestration.WithStartToCloseTimeout(10*limit),
			orchestration.WithRetry(orchestration.RetryPolicy{}))
		e.Start(reg)
		began := time.Now()
		ended(e, e.Create("one", "main", ""), began, activity.ScheduleToClose, limit)
		var cause *activity.TimeoutError
		if err := <-causes; !errors.As(err, &cause) || cause.Kind != activity.ScheduleToClose {
			e.T.Errorf("the context ended with %v", err)
		}
		if len(causes) != 0 {
			e.T.Error("it was retried")
		}
	})
}

// No attempt begins after schedule-to-close. The call ends with the failure of the last attempt instead of waiting.
func TestNoAttemptAfterScheduleToClose(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "work", func(context.Context, string) (string, error) { return "", errors.New("refused") })
		main(e, reg, "work", orchestration.WithScheduleToCloseTimeout(time.Hour),
			orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 2 * time.Hour}))
		e.Start(reg)
		began := time.Now()
		_, err := enginetest.Result[string](e, e.Create("one", "main", ""), nil)
		if err == nil || !strings.Contains(err.Error(), "refused") || time.Since(began) > late(e) {
			e.T.Errorf("ended with %v after %v", err, time.Since(began))
		}
	})
}

// Schedule-to-close ends a call between two attempts, on a node that does not serve its queue. The error contains that
// of the last attempt.
func TestHazard30_NobodyIsLeft(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		limit := 3 * ample(e)
		tried := make(chan struct{}, 10)
		worker := runtime.NewRegistry()
		enginetest.Activity(e.T, worker, "work", func(context.Context, string) (string, error) {
			tried <- struct{}{}
			return "", errors.New("refused")
		})
		reg := runtime.NewRegistry()
		main(e, reg, "work", orchestration.WithScheduleToCloseTimeout(limit),
			orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: limit * 2 / 3, Jitter: orchestration.Off}))
		e.Start(reg)
		lost := e.Start(worker)
		began := time.Now()
		key := e.Create("one", "main", "")
		<-tried
		e.Until("it is queued again", func() bool { return lost.Stats().AttemptsRetried == 1 })
		e.Stop(lost)
		if text := ended(e, key, began, activity.ScheduleToClose, limit); !strings.Contains(text, "refused") {
			e.T.Errorf("the last attempt is missing: %v", text)
		}
	})
}

// A parked activity ends by schedule-to-close, which voids its token.
func TestHazard30_ParkedEndsByItsLimit(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		reg := runtime.NewRegistry()
		limit := ample(e)
		enginetest.Activity(e.T, reg, "work", func(context.Context, string) (string, error) { return "", activity.ErrParked })
		main(e, reg, "work", orchestration.WithScheduleToCloseTimeout(limit), orchestration.WithRetry(orchestration.RetryPolicy{}))
		rt := e.Start(reg)
		began := time.Now()
		key := e.Create("one", "main", "")
		e.Until("it is parked", func() bool { return rt.Stats().AttemptsParked >= 1 })
		ended(e, key, began, activity.ScheduleToClose, limit)
	})
}

// The start-to-close timeout of an attempt continues while it is parked, even after its node has stopped. Then the
// policy decides.
func TestHazard30_ParkedAttemptTimesOut(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		reg := runtime.NewRegistry()
		limit := ample(e)
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, _ string) (string, error) {
			if activity.GetInfo(ctx).Attempt == 3 {
				return "done", nil
			}
			return "", activity.ErrParked
		})
		call := []orchestration.ActivityOption{
			orchestration.WithStartToCloseTimeout(limit), orchestration.WithScheduleToStartTimeout(time.Hour),
			orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond}),
		}
		main(e, reg, "work", call...)
		rt := e.Start(reg)
		began := time.Now()
		key := e.Create("one", "main", "")
		e.Until("it is parked", func() bool { return rt.Stats().AttemptsParked >= 1 })
		e.Stop(rt)
		e.Start(reg)
		if got := enginetest.Output[string](e, key); got != "done" {
			e.T.Errorf("got %q", got)
		}
		if took := time.Since(began); took < 2*limit || took > 2*limit+late(e) {
			e.T.Errorf("two attempts timed out in %v", took)
		}
	})
}

// Without a policy the first parked attempt that times out ends the call.
func TestParkedAttemptEndsTheCall(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{}, func(e *engine) {
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "work", func(context.Context, string) (string, error) { return "", activity.ErrParked })
		main(e, reg, "work", orchestration.WithStartToCloseTimeout(unit(e)))
		e.Start(reg)
		began := time.Now()
		ended(e, e.Create("one", "main", ""), began, activity.StartToClose, unit(e))
	})
}
