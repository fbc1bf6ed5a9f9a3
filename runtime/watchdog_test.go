package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// An activity that does not obey is interrupted, leaked, and off the list when an interrupt brings it back. Meanwhile
// its call has ended, and its slot and lease are free.
func TestLeakOnEveryStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) func() provider.Provider{"memory": onMemory, "sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)()
			t.Cleanup(func() {
				enginetest.CheckLeases(t, store)
				_ = store.Close()
			})
			release, interrupted := make(chan struct{}), make(chan int, 100)
			hang := activity.Define("hang", func(ctx context.Context, _ activity.None) (activity.None, error) {
				activity.OnInterrupt(ctx, func(attempt int) {
					select {
					case interrupted <- attempt:
					default: // a full channel must not block the activity's end
					}
				})
				<-release
				return activity.None{}, nil
			})
			call := orchestration.Define("call", func(ctx *orchestration.Context, in orchestration.None) (orchestration.None, error) {
				return orchestration.CallActivity(ctx, hang, in, orchestration.WithStartToCloseTimeout(10*time.Millisecond))
			})
			reg := runtime.NewRegistry()
			if err := errors.Join(runtime.AddActivity(reg, hang), runtime.AddOrchestration(reg, call)); err != nil {
				t.Fatal(err)
			}
			rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{
				Logger: slog.New(slog.DiscardHandler),
				Leaks: runtime.LeakOptions{
					InterruptInterval: 5 * time.Millisecond, MaxInterruptInterval: 20 * time.Millisecond, GracePeriod: 50 * time.Millisecond,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			h, err := client.Start(t.Context(), clienttest.New(t, store, client.Options{}), call, orchestration.None{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Wait(t.Context()); !errors.Is(err, orchestration.ErrTimeout) {
				t.Errorf("the call ended with %v", err)
			}
			health, err := rt.Health(t.Context())
			if err != nil || len(health.Leaked) != 1 || health.Leaked[0].State != runtime.LeakLeaked || health.Leaked[0].Stack == "" {
				t.Errorf("%+v, %v", health, err)
			}
			seen := map[int]bool{}
			for len(seen) < 5 { // in real time one may overtake another
				got := <-interrupted
				if got < 1 || seen[got] {
					t.Errorf("interrupt %d after %v", got, seen)
				}
				seen[got] = true
			}
			if s := rt.Stats(); s.AttemptsRunning != 0 || s.LeaksRunning != 1 {
				t.Errorf("%+v", s)
			}
			close(release)
			if err := rt.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if s := rt.Stats(); s.LeaksRecovered != 1 || len(rt.Leaked()) != 0 {
				t.Errorf("%+v, %+v", rt.Leaked(), s)
			}
		})
	}
}
