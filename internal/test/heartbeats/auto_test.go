package heartbeats

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// hang reports details and then nothing for three minutes.
func hang(ctx context.Context, n int) (int, error) {
	if done, _, _ := activity.HeartbeatDetails[int](ctx); done > 0 {
		return done, nil
	}
	if err := activity.Heartbeat(ctx, 7); err != nil {
		return 0, err
	}
	if err := await(ctx, 100*time.Millisecond); err != nil {
		return 0, err
	}
	if err := activity.Heartbeat(ctx, 8); err != nil {
		return 0, err
	}
	return n, await(ctx, 3*time.Minute)
}

// The node sends heartbeats for code that cannot, at the interval of the node or the registration. The interval is at
// most half of the timeout.
func TestHeartbeating_Automatic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node  time.Duration
		own   []runtime.RegisterOption
		lives bool
	}{
		"off":                    {0, nil, false},
		"of the node":            {5 * time.Second, nil, true},
		"of the activity":        {0, []runtime.RegisterOption{runtime.AutoHeartbeat(5 * time.Second)}, true},
		"later than the timeout": {time.Hour, nil, true},
		"off for the activity":   {5 * time.Second, []runtime.RegisterOption{runtime.AutoHeartbeat(runtime.Off)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{Heartbeats: runtime.HeartbeatOptions{Auto: c.node}}, func(e *engine) {
				reg := registry(e, hang, c.own, orchestration.WithHeartbeatTimeout(20*time.Second), again)
				e.Start(reg)
				got, want := enginetest.Output[int](e, e.Create("main", "main", 1)), 8 // the second attempt's
				if c.lives {
					want = 1
				}
				if got != want {
					e.T.Errorf("got %d, want %d", got, want)
				}
			})
		})
	}
}

// Automatic heartbeats carry no details of their own. The details that the code reported stay, and are sent when they
// are due.
func TestHeartbeating_AutomaticKeepsDetails(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Heartbeats: runtime.HeartbeatOptions{Auto: time.Second}}, func(e *engine) {
		store := &renewals{Full: e.Store}
		reg := registry(e, hang, nil)
		e.StartOn(store, reg, e.Options)
		key := e.Create("main", "main", 1)
		begun := time.Now()
		time.Sleep(2 * time.Minute) //nolint:forbidigo // virtual time
		if got := string(pending(e, caller(e, reg), "main").Heartbeat); got != "8" {
			e.T.Errorf("the store has the details %q", got)
		}
		sent := store.withDetails()
		if len(sent) != 2 || sent[1].details != "8" || sent[1].at.Sub(begun) > 31*time.Second {
			e.T.Errorf("sent %v", sent)
		}
		if n := len(store.list()); n < 115 || n > 130 {
			e.T.Errorf("%d renewals in 120 seconds", n)
		}
		enginetest.Output[int](e, key)
		over := len(store.list())
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		if n := len(store.list()); n != over {
			e.T.Errorf("%d renewals after its end", n-over)
		}
	})
}

// Without notices, an automatic heartbeat reports a cancellation sooner than the renewal of the lease would.
func TestHeartbeating_AutomaticHearsTheCancel(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		plan := faulty.NewPlan(1)
		plan.DropNotices(true)
		heard := make(chan time.Time, 1)
		worker := runtime.NewRegistry()
		enginetest.Activity(e.T, worker, "work", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			heard <- time.Now()
			return 0, context.Cause(ctx)
		}, runtime.AutoHeartbeat(time.Second))
		turns := runtime.NewRegistry()
		enginetest.Orchestration(e.T, turns, "main", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "work", n)
		})
		rt := e.StartOn(faulty.Wrap(e.Store, plan), worker, e.Options)
		e.Start(turns)
		key := e.Create("main", "main", 1)
		e.Until("it runs", func() bool { return rt.Stats().AttemptsRunning == 1 })
		asked := time.Now()
		e.Cancel(key, "enough")
		if took := (<-heard).Sub(asked); took > 1100*time.Millisecond {
			e.T.Errorf("cancelled after %v", took)
		}
	})
}

// Automatic heartbeats survive storage errors and end with the attempt, however it ends.
func TestHeartbeating_AutomaticOutlivesFaultsAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work func(ctx context.Context) error
		want error
	}{
		"returns": {func(ctx context.Context) error { return await(ctx, time.Minute) }, nil},
		"fails":   {func(ctx context.Context) error { return errors.Join(await(ctx, time.Minute), errDeclined) }, errDeclined},
		"panics":  {func(ctx context.Context) error { _ = await(ctx, time.Minute); panic("boom") }, orchestration.ErrPanic},
		"is over its time": {func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, orchestration.ErrTimeout},
		"does not obey": {func(context.Context) error {
			time.Sleep(time.Hour) //nolint:forbidigo // virtual time
			return nil
		}, orchestration.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{Heartbeats: runtime.HeartbeatOptions{Auto: time.Second}}, func(e *engine) {
				store := &renewals{Full: provider.FullOf(away(e.Store, 10*time.Second, 30*time.Second))}
				var runs enginetest.Notes[any]
				reg := registry(e, func(ctx context.Context, _ int) (int, error) {
					runs.Add(1)
					return 1, c.work(ctx)
				}, nil,
					orchestration.WithHeartbeatTimeout(5*time.Second), orchestration.WithStartToCloseTimeout(2*time.Minute))
				e.StartOn(store, reg, e.Options)
				if _, err := enginetest.Result[int](e, e.Create("main", "main", 1), reg.Errors()); !errors.Is(err, c.want) {
					e.T.Errorf("ended with %v", err)
				}
				ended(e, &runs, 1)
				over := len(store.list())
				time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual time
				if n := len(store.list()); n != over || n < 30 {
					e.T.Errorf("%d renewals, %d of them after its end", n, n-over)
				}
			})
		})
	}
}
