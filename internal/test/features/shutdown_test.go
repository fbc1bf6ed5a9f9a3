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
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// shutdown: activities are cancelled only after the drain timeout, with a cause of its own. A result after that counts.
// An activity that obeys, fails or never returns runs again on another node.
func shutdown(r *rig) {
	kinds := map[string]func(cause error, release chan struct{}) (string, error){
		"accept":  func(cause error, _ chan struct{}) (string, error) { return "", cause },
		"succeed": func(error, chan struct{}) (string, error) { return "succeeded", nil },
		"fail":    func(error, chan struct{}) (string, error) { return "", errors.New("failed") },
		"ignore":  func(_ error, release chan struct{}) (string, error) { <-release; return "far too late", nil },
	}
	order := []string{"accept", "succeed", "fail", "ignore"}
	began, release := make(chan string, 10), make(chan struct{})
	var cancelled enginetest.Notes[time.Time]
	var asked time.Time
	for name, end := range kinds {
		var runs atomic.Int64
		r.activity(name, func(ctx context.Context, _ string) (string, error) {
			if runs.Add(1) > 1 {
				return fmt.Sprint("run again, attempt ", activity.GetInfo(ctx).Attempt), nil
			}
			began <- name
			<-ctx.Done()
			cancelled.Add(time.Now())
			if cause := context.Cause(ctx); !errors.Is(cause, activity.ErrShutdown) || errors.Is(cause, activity.ErrCancelled) {
				return "", orchestration.NonRetryable(fmt.Errorf("cancelled: %w", cause))
			}
			return end(context.Cause(ctx), release)
		})
	}
	key := r.main(func(ctx *octx, _ none) (string, error) {
		var calls []orchestration.Future[string]
		for _, name := range order {
			calls = append(calls, begin(ctx, name, ""))
		}
		got, err := orchestration.All(ctx, calls...)
		return strings.Join(got, ", "), err
	})
	if !r.Virtual { // a result must reach the store in this time, on a busy machine, too
		r.Options.Shutdown.ForceTimeout = 3 * time.Second
	}
	rt := r.leaky()
	for range order {
		<-began
	}
	asked = time.Now()
	if err := rt.Shutdown(r.T.Context()); !errors.Is(err, runtime.ErrLeaked) {
		r.T.Errorf("shutdown returned %v", err)
	}
	if took := time.Since(asked); took > r.Options.Shutdown.DrainTimeout+r.Options.Shutdown.ForceTimeout+30*time.Second {
		r.T.Errorf("shutdown took %v", took)
	}
	for _, at := range cancelled.All() {
		if after := at.Sub(asked); after < r.Options.Shutdown.DrainTimeout {
			r.T.Errorf("cancelled after %v", after)
		}
	}
	r.Start(r.reg)
	want := "run again, attempt 1, succeeded, run again, attempt 1, run again, attempt 1"
	if got := enginetest.Output[string](r.Engine, key); got != want {
		r.T.Errorf("got %q, want %q", got, want)
	}
	close(release)
	r.Until("the late result is discarded", func() bool { return rt.Stats().ResultsLate == 1 })
}

// The list demands these of a stopping worker.
func TestWorkerShutdown(t *testing.T) {
	t.Parallel()
	t.Run("poll_complete_on_shutdown", func(t *testing.T) {
		t.Parallel()
		everyStore(t, pollComplete)
	})
}

// pollComplete: a busy worker stops when its activities have ended, whether its fetches are parked or not. No task is
// lost, run twice or timed out.
func pollComplete(r *rig) {
	const instances, steps = 20, 4
	rest, limit := 20*time.Millisecond, 5*time.Second
	if !r.Virtual { // a busy machine must drain in time, and ask for it while there is work left
		r.Options.Shutdown.DrainTimeout = 20 * time.Second
		rest, limit = 500*time.Millisecond, 15*time.Second
	}
	var runs enginetest.Notes[activity.Info]
	half := make(chan struct{})
	r.activity("step", func(ctx context.Context, in string) (string, error) {
		n := runs.Add(activity.GetInfo(ctx))
		if n == instances*steps/2 {
			close(half)
		}
		if n < instances*steps/2 {
			return in + "x", pause(ctx, 20*time.Millisecond)
		}
		return in + "x", pause(ctx, rest)
	})
	enginetest.Orchestration(r.T, r.reg, "chain", func(ctx *octx, _ none) (text string, err error) {
		for i := 0; i < steps && err == nil; i++ {
			text, err = call(ctx, "step", text, orchestration.WithStartToCloseTimeout(10*time.Second))
		}
		return text, err
	})
	var keys []provider.UUID
	for i := range instances {
		keys = append(keys, r.Create(fmt.Sprint("chain ", i), "chain", none{}))
	}
	rt := r.leaky()
	<-half
	asked := time.Now()
	if err := rt.Shutdown(r.T.Context()); err != nil {
		r.T.Errorf("shutdown returned %v", err)
	}
	if took := time.Since(asked); took > limit {
		r.T.Errorf("shutdown took %v", took)
	}
	before := len(runs.All())
	r.Start(r.reg)
	for _, key := range keys {
		if got := enginetest.Output[string](r.Engine, key); got != "xxxx" {
			r.T.Errorf("got %q", got)
		}
	}
	all := runs.All()
	for _, info := range all {
		if info.Attempt != 1 || info.Deliveries != 1 {
			r.T.Errorf("%+v", info)
		}
	}
	if len(all) != instances*steps || before == len(all) {
		r.T.Errorf("%d runs, %d of them before the shutdown, want %d", len(all), before, instances*steps)
	}
}

// The list demands these of activities that a worker takes without a fetch.
func TestEagerActivity(t *testing.T) {
	t.Parallel()
	t.Run("non_remote_activities_worker", func(t *testing.T) {
		t.Parallel()
		everyStore(t, nonRemote)
	})
}

// nonRemote: a node never takes an activity that it does not have, not even by hand-off. The call waits until a node
// has it, and health reports it.
func nonRemote(r *rig) {
	workers := runtime.NewRegistry()
	var runs atomic.Int64
	enginetest.Activity(r.T, workers, "work", func(context.Context, string) (string, error) {
		runs.Add(1)
		return "done", nil
	})
	r.activity("another", func(context.Context, string) (string, error) { return "", nil }) // so that the node fetches activities
	enginetest.Orchestration(r.T, r.reg, "main", func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
	turns := r.Start(r.reg)
	_ = pause(r.T.Context(), 50*time.Millisecond) // until its fetch is parked, which hand-off requires
	key := r.Create("main", "main", none{})
	r.Until("it is scheduled", func() bool { return len(r.Tasks(key)) == 1 })
	task := r.Tasks(key)[0]
	if task.State != provider.TaskQueued || task.Deliveries != 0 || turns.Stats().TasksHandedOff != 0 || runs.Load() != 0 {
		r.T.Errorf("%+v, run %d times", task, runs.Load())
	}
	health, err := turns.Health(r.T.Context())
	if err != nil || len(health.Unserved) == 0 {
		r.T.Errorf("health: %+v, %v", health, err)
	}
	r.StartOn(r.Store, workers, r.Options)
	if got := enginetest.Output[string](r.Engine, key); got != "done" {
		r.T.Errorf("got %q", got)
	}
}
