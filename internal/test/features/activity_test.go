package features

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// The list demands these of activities.
func TestActivity(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(r *rig){
		"basic_no_workflow_timeout": basic,
		"cancel_abandon":            func(r *rig) { givenUp(r, orchestration.Abandon) },
		"cancel_try_cancel":         func(r *rig) { givenUp(r, orchestration.TryCancel) },
		"cancel_wait_cancel":        func(r *rig) { givenUp(r, orchestration.WaitForEnd) },
		"heartbeating":              heartbeating,
		"retry_on_error":            retryOnError,
		"running_concurrently":      runningConcurrently,
		"shutdown":                  shutdown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, test)
		})
	}
}

// basic: one activity without any timeout.
func basic(r *rig) {
	r.activity("echo", func(_ context.Context, in string) (string, error) { return in, nil })
	key := r.main(func(ctx *octx, _ none) (string, error) {
		return call(ctx, "echo", "hello", orchestration.WithStartToCloseTimeout(0), orchestration.WithRetry(orchestration.RetryPolicy{}))
	})
	r.Start(r.reg)
	if got := enginetest.Output[string](r.Engine, key); got != "hello" {
		r.T.Errorf("got %q", got)
	}
}

// givenUp: the call ends at once, or when the activity has returned, with the activity's result. The activity is
// cancelled, or runs to its end without a cancellation.
func givenUp(r *rig, c orchestration.Cancellation) {
	began, causes, answered := make(chan struct{}, 1), make(chan error, 1), make(chan struct{})
	var reacted atomic.Bool
	r.activity("work", func(ctx context.Context, _ string) (string, error) {
		began <- struct{}{}
		if c != orchestration.Abandon {
			<-ctx.Done()
		} else {
			<-answered // every cancellation has arrived by now
		}
		reacted.Store(true)
		causes <- context.Cause(ctx)
		if c == orchestration.TryCancel {
			<-answered // it takes its time and ignores its cancellation
		}
		return "tidied up", nil
	})
	r.activity("answered", func(context.Context, string) (string, error) {
		if c == orchestration.WaitForEnd && !reacted.Load() {
			r.T.Error("the call ended before the activity had reacted")
		}
		close(answered) // otherwise the others never return
		return "", nil
	})
	key := r.main(func(ctx *octx, _ none) (string, error) {
		f := begin(ctx, "work", "", orchestration.WithCancellation(c))
		if err := receive(ctx, "stop"); err != nil {
			return "", err
		}
		f.Cancel()
		got, err := f.Get(ctx)
		if errors.Is(err, orchestration.ErrCancelled) {
			got, err = "cancelled", nil
		}
		_, after := call(ctx, "answered", "")
		return got, errors.Join(err, after, receive(ctx, "end"))
	})
	rt := r.Start(r.reg)
	<-began
	r.Raise(key, "stop", none{})
	cause := <-causes
	<-answered
	r.Until("the activity has come back", func() bool { return rt.Stats().AttemptsRunning == 0 })
	r.Raise(key, "end", none{})
	want := map[orchestration.Cancellation]string{orchestration.Abandon: "cancelled", orchestration.TryCancel: "cancelled", orchestration.WaitForEnd: "tidied up"}
	if got := enginetest.Output[string](r.Engine, key); got != want[c] {
		r.T.Errorf("the call returned %q, want %q", got, want[c])
	}
	if wasTold := errors.Is(cause, activity.ErrCancelled); wasTold != (c != orchestration.Abandon) {
		r.T.Errorf("the activity saw %v", cause)
	}
}

// heartbeating: details reach the next attempt, and a heartbeat reports a cancellation. Package heartbeats tests missed
// and throttled heartbeats.
func heartbeating(r *rig) {
	var seen enginetest.Notes[string]
	beating := make(chan struct{}, 1)
	r.activity("work", func(ctx context.Context, _ string) (string, error) {
		info := activity.GetInfo(ctx)
		last, ok, err := activity.HeartbeatDetails[string](ctx)
		seen.Add(strings.TrimSpace(fmt.Sprintln(last, ok, err)))
		if info.Attempt == 1 {
			return "", errors.Join(activity.Heartbeat(ctx, "half"), errors.New("the second half"))
		}
		beating <- struct{}{}
		for {
			if err := activity.Heartbeat(ctx, "more"); err != nil {
				return "stopped by a beat", nil //nolint:nilerr // what it was told is not how it ends
			}
			_ = pause(context.WithoutCancel(ctx), 10*time.Millisecond)
		}
	})
	key := r.main(func(ctx *octx, _ none) (string, error) {
		f := begin(ctx, "work", "", orchestration.WithCancellation(orchestration.WaitForEnd),
			orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond}))
		if err := receive(ctx, "stop"); err != nil {
			return "", err
		}
		f.Cancel()
		return f.Get(ctx)
	})
	r.Start(r.reg)
	<-beating
	r.Raise(key, "stop", none{})
	if got := enginetest.Output[string](r.Engine, key); got != "stopped by a beat" {
		r.T.Errorf("got %q", got)
	}
	if got := strings.Join(seen.All(), ", "); got != "false <nil>, half true <nil>" {
		r.T.Errorf("details by attempt: %s", got)
	}
}

// retryOnError: five attempts, and the call fails with the error of the fifth.
func retryOnError(r *rig) {
	r.activity("refuse", func(ctx context.Context, _ string) (string, error) {
		return "", fmt.Errorf("activity attempt %d failed", activity.GetInfo(ctx).Attempt)
	})
	key := r.main(func(ctx *octx, _ none) (string, error) {
		return call(ctx, "refuse", "", orchestration.WithRetry(orchestration.RetryPolicy{
			MaxAttempts: 5, InitialInterval: time.Millisecond, Coefficient: 1,
		}))
	})
	r.Start(r.reg)
	if _, err := enginetest.Result[string](r.Engine, key, nil); err == nil || err.Error() != "activity attempt 5 failed" {
		r.T.Errorf("the call failed with %v", err)
	}
}

// runningConcurrently: several activities of one turn run at the same time, and all return.
func runningConcurrently(r *rig) {
	const n = 3
	began, all := make(chan struct{}, n), make(chan struct{})
	r.activity("meet", func(ctx context.Context, in string) (string, error) {
		began <- struct{}{}
		select {
		case <-all:
			return in, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	key := r.main(func(ctx *octx, _ none) (string, error) {
		var calls []orchestration.Future[string]
		for i := range n {
			calls = append(calls, begin(ctx, "meet", fmt.Sprint(i)))
		}
		got, err := orchestration.All(ctx, calls...)
		return strings.Join(got, " "), err
	})
	r.Start(r.reg)
	for range n {
		<-began
	}
	close(all)
	if got := enginetest.Output[string](r.Engine, key); got != "0 1 2" {
		r.T.Errorf("got %q", got)
	}
}
