package doors_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

const forever = time.Duration(math.MaxInt64)

// Unusual but valid input works: the longest durations and the largest numbers overflow nowhere.
func TestExtremesOfClient(t *testing.T) {
	w := newWorld(t)
	c := clienttest.New(t, w, client.Options{CallTimeout: forever, Logger: quiet()})
	ctx := t.Context()
	h, err := client.StartNamed[string](ctx, c, "Checkout", 1, client.WithDelay(forever), client.WithID(strings.Repeat("n", provider.MaxName)))
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Describe(ctx)
	if err != nil || d.Status != client.StatusRunning {
		t.Errorf("it is %v: %v", d.Status, err)
	}
	if _, err := client.StartNamed[string](ctx, c, "Checkout", text(2<<20)); err != nil {
		t.Errorf("an input at the limit: %v", err)
	}
	if err := c.Cancel(ctx, "open", strings.Repeat("x", 4<<10)); err != nil {
		t.Errorf("a reason at the limit: %v", err)
	}
	for f, want := range map[*client.Filter]int64{
		{CreatedAfter: time.Unix(0, 0)}:                                   5,
		{CreatedBefore: time.Unix(0, 0)}:                                  0,
		{CreatedBefore: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}:    5,
		{CreatedAfter: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)}:          5,
		{Statuses: slicesOf(client.StatusCompleted, provider.MaxBatch+1)}: 1,
	} {
		if n, err := c.Count(ctx, *f); n != want || err != nil {
			t.Errorf("%+v matches %d, not %d: %v", *f, n, want, err)
		}
	}
}

func slicesOf[T any](v T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = v
	}
	return all
}

func TestExtremesOfOptions(t *testing.T) {
	store := memoryStore(t)
	reg := runtime.NewRegistry()
	ok := orchestration.Define("ok", func(ctx *octx, name string) (string, error) { return orchestration.CallActivity(ctx, Hello, name) })
	if err := errors.Join(runtime.AddOrchestration(reg, ok), runtime.AddActivity(reg, Hello)); err != nil {
		t.Fatal(err)
	}
	c := clienttest.New(t, store, client.Options{Logger: quiet()})
	for name, o := range map[string]runtime.Options{
		"largest": {
			Name: strings.Repeat("n", 256), MaxConcurrentTurns: math.MaxInt, MaxConcurrentActivities: math.MaxInt, PoisonLimit: math.MaxInt,
			Lease: 24 * time.Hour, DeadlockLimit: forever,
			Cache:      runtime.CacheOptions{Executions: math.MaxInt, Bytes: math.MaxInt},
			Heartbeats: runtime.HeartbeatOptions{DefaultThrottle: forever, MaxThrottle: forever, Auto: forever},
			Leaks: runtime.LeakOptions{
				GracePeriod: forever, InterruptInterval: forever, MaxInterruptInterval: forever, GiveUpAfter: forever, MaxInstances: math.MaxInt,
			},
			Shutdown: runtime.ShutdownOptions{DrainTimeout: forever, ForceTimeout: forever, WatchdogTimeout: forever},
		},
		"smallest": {
			MaxConcurrentTurns: 1, MaxConcurrentActivities: 1, PoisonLimit: 1, Lease: 500 * time.Millisecond, DeadlockLimit: time.Second,
			Cache:      runtime.CacheOptions{Executions: 1, Bytes: 1},
			Heartbeats: runtime.HeartbeatOptions{DefaultThrottle: 1, MaxThrottle: 1, Auto: 100 * time.Millisecond},
			Leaks:      runtime.LeakOptions{GracePeriod: 1, InterruptInterval: 1, MaxInterruptInterval: 1, GiveUpAfter: 1, MaxInstances: 1},
			Shutdown:   runtime.ShutdownOptions{DrainTimeout: 1, ForceTimeout: 1, WatchdogTimeout: 1},
		},
		"off": {
			DeadlockLimit: runtime.Off,
			Cache:         runtime.CacheOptions{Executions: runtime.Off},
			Heartbeats:    runtime.HeartbeatOptions{Auto: runtime.Off},
			Leaks: runtime.LeakOptions{
				GracePeriod: runtime.Off, InterruptInterval: runtime.Off, MaxInterruptInterval: runtime.Off,
				GiveUpAfter: runtime.Off, MaxInstances: runtime.Off,
			},
			Shutdown: runtime.ShutdownOptions{DrainTimeout: runtime.Off, ForceTimeout: runtime.Off, WatchdogTimeout: runtime.Off},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o.Logger = quiet()
			rt, err := runtime.Start(t.Context(), store, reg, o)
			if err != nil {
				t.Fatal(err)
			}
			h, err := client.Start(t.Context(), c, ok, "ann")
			if err != nil {
				t.Fatal(err)
			}
			if out, err := h.Wait(t.Context()); out != "hello ann" || err != nil {
				t.Errorf("got %q, %v", out, err)
			}
			if err := rt.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExtremesOfCalls(t *testing.T) {
	th := newTheater(t)
	events, err := th.run(t.Context(), func(ctx *octx) error {
		scope, cancel := ctx.WithTimeout(forever)
		timer := orchestration.StartTimer(scope, forever)
		passed, stop := ctx.WithTimeout(math.MinInt64)
		defer stop()
		if !errors.Is(passed.Err(), orchestration.ErrTimeout) {
			return errors.New("a timeout that is over lets go on")
		}
		err := errors.Join(ctx.Sleep(0), ctx.Sleep(-1), ctx.Sleep(math.MinInt64))
		policy := orchestration.RetryPolicy{
			MaxAttempts: math.MaxInt, InitialInterval: forever, MaxInterval: forever, Coefficient: 1000, Jitter: 1, NonRetryable: []string{"", "\xff", long},
			MaxElapsed: forever,
		}
		out, failed := orchestration.CallActivity(ctx, Hello, "ann", orchestration.WithRetry(policy), orchestration.WithStartToCloseTimeout(forever),
			orchestration.WithHeartbeatTimeout(forever))
		if out != "hello ann" {
			failed = errors.Join(failed, errors.New("answered "+out))
		}
		if timer.Ready() {
			failed = errors.Join(failed, errors.New("a timer of 292 years has fired"))
		}
		cancel()
		return errors.Join(err, failed)
	})
	if err != nil {
		t.Error(err)
	}
	for _, e := range events {
		if e.Kind == "TimerCreated" && (e.Duration != forever || e.Due.Sub(e.Time) < forever-time.Minute) {
			t.Errorf("a timer of %v, due at %v", e.Duration, e.Due)
		}
		if e.Kind == "ActivityScheduled" && e.Timeout != forever {
			t.Errorf("a timeout of %v", e.Timeout)
		}
	}
}
