package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// The tenth instance with leaked code changes nothing. The eleventh is one too many: the node shuts itself down and
// reports why.
func TestEleventhLeakIsFatal(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		release := make(chan struct{})
		var reasons enginetest.Notes[error]
		opts := e.Options
		opts.Leaks.OnFatal = func(reason error) {
			reasons.Add(reason)
			panic("of the program")
		}
		rt, err := runtime.Start(e.T.Context(), e.Store, single(e, obstinate(release), orchestration.WithStartToCloseTimeout(time.Second)), opts)
		if err != nil {
			e.T.Fatal(err)
		}
		for i := range 10 {
			e.Create(fmt.Sprint("single-", i), "single", i)
		}
		began := time.Now()
		after(began, time.Minute)
		if h, err := rt.Health(e.T.Context()); err != nil || h.Fatal != nil || len(h.Leaked) != 10 || len(reasons.All()) != 0 {
			e.T.Errorf("after ten: %+v, %v, told %v", h, err, reasons.All())
		}
		last := e.Create("last", "single", 10)
		began = time.Now()
		after(began, 11*time.Second-1)
		if h, _ := rt.Health(e.T.Context()); h.Fatal != nil || len(h.Leaked) != 11 || len(reasons.All()) != 0 {
			e.T.Errorf("while it has the grace period: %v, told %v", h.Fatal, reasons.All())
		}
		after(began, 11*time.Second)
		const want = "too many leaked goroutines: code of 11 instances, the limit is 10"
		if told := reasons.All(); len(told) != 1 || told[0].Error() != want || !errors.Is(told[0], runtime.ErrTooManyLeaks) {
			e.T.Errorf("told %v", told)
		}
		if h, _ := rt.Health(e.T.Context()); !errors.Is(h.Fatal, runtime.ErrTooManyLeaks) {
			e.T.Errorf("%v", h.Fatal)
		}
		// It takes no more work.
		later := e.Create("later", "single", 1)
		after(began, 20*time.Second)
		err = rt.Shutdown(e.T.Context())
		if took := time.Since(began); took < 41*time.Second || took > 42*time.Second {
			e.T.Errorf("shut down after %v", took)
		}
		if !errors.Is(err, runtime.ErrLeaked) || !errors.Is(err, runtime.ErrTooManyLeaks) {
			e.T.Errorf("shutdown answered %v", err)
		}
		if i := e.Get(later); i.HistoryLength != 0 {
			e.T.Errorf("it went on: %+v", i)
		}
		close(release)
		synctest.Wait()
		if len(rt.Leaked()) != 0 || len(reasons.All()) != 1 {
			e.T.Errorf("%+v, told %v", rt.Leaked(), reasons.All())
		}
		// Others take it.
		e.Start(single(e, func(_ context.Context, n int) (int, error) { return n, nil }))
		e.WaitEnded(last)
		enginetest.Output[int](e, later)
	})
}

// Without OnFatal the node continues: its health says that it should be restarted.
func TestLeaksAreOnlyToldWithoutOnFatal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit int
		fatal bool
	}{"limit": {0, true}, "off": {runtime.Off, false}, "twenty": {20, false}, "nineteen": {19, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{Leaks: runtime.LeakOptions{MaxInstances: c.limit}}, func(e *enginetest.Engine) {
				release := make(chan struct{})
				var lines strings.Builder
				e.Options.Logger = slog.New(slog.NewTextHandler(&lines, nil))
				rt := e.Start(single(e, obstinate(release), orchestration.WithStartToCloseTimeout(time.Second)))
				for i := range 20 {
					e.Create(fmt.Sprint("single-", i), "single", i)
				}
				after(time.Now(), time.Minute)
				h, err := rt.Health(e.T.Context())
				if err != nil || errors.Is(h.Fatal, runtime.ErrTooManyLeaks) != c.fatal || len(h.Leaked) != 20 {
					e.T.Errorf("%d leaks, %v, %v", len(h.Leaked), h.Fatal, err)
				}
				var probes runtime.Probes
				probes.Use(rt)
				w := httptest.NewRecorder()
				probes.ServeHTTP(w, httptest.NewRequestWithContext(e.T.Context(), http.MethodGet, "/livez", http.NoBody))
				if (w.Code == http.StatusServiceUnavailable) != c.fatal {
					e.T.Errorf("/livez: %d %s", w.Code, w.Body)
				}
				if told := strings.Count(lines.String(), "restart the process"); told > 1 || (told == 1) != c.fatal {
					e.T.Errorf("told %d times", told)
				}
				if got := enginetest.Output[int](e, e.Create("chain", "Chain", 3)); got != 8 {
					e.T.Errorf("got %d", got)
				}
				close(release)
			})
		})
	}
}

// A leak that returns makes room: eleven leaks that never overlap are not too many.
func TestLeaksThatComeBackDoNotCount(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Leaks: runtime.LeakOptions{MaxInstances: 1}}, func(e *enginetest.Engine) {
		e.Options.Leaks.OnFatal = func(reason error) { e.T.Errorf("told %v", reason) }
		for i := range 11 {
			release := make(chan struct{})
			rt := e.Start(single(e, obstinate(release), orchestration.WithStartToCloseTimeout(time.Second)))
			key := e.Create(fmt.Sprint("single-", i), "single", i)
			after(time.Now(), 15*time.Second)
			if s := rt.Stats(); s.LeakedInstances != 1 {
				e.T.Errorf("%+v", s)
			}
			close(release)
			e.WaitEnded(key)
			e.Stop(rt)
		}
	})
}

// One instance whose code always hangs does not end one node after the other: instances count, not their leaks.
func TestHazard20_LeakLimitCountsInstances(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Leaks: runtime.LeakOptions{MaxInstances: 1}}, func(e *enginetest.Engine) {
		release := make(chan struct{})
		var reasons enginetest.Notes[error]
		e.Options.Leaks.OnFatal = func(reason error) { reasons.Add(reason) }
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "work", obstinate(release))
		enginetest.Orchestration(e.T, reg, "fan", func(ctx *octx, n int) (none, error) {
			var all []orchestration.Future[int]
			for i := range n {
				all = append(all, orchestration.StartActivityNamed[int](ctx, "work", i, orchestration.WithStartToCloseTimeout(time.Second),
					orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2})))
			}
			for _, f := range all {
				_, _ = f.Get(ctx)
			}
			return none{}, nil
		})
		rt, err := runtime.Start(e.T.Context(), e.Store, reg, e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		fan := e.Create("fan", "fan", 5)
		e.WaitEnded(fan)
		if s := rt.Stats(); s.LeaksRunning != 10 || s.LeakedInstances != 1 || len(reasons.All()) != 0 {
			e.T.Errorf("told %v, %+v", reasons.All(), s)
		}
		other := e.Create("other", "fan", 1)
		e.Until("the second instance is one too many", func() bool { return len(reasons.All()) == 1 })
		finished, cancel := context.WithCancel(e.T.Context())
		cancel()
		if err := rt.Shutdown(finished); !errors.Is(err, runtime.ErrTooManyLeaks) {
			e.T.Errorf("shutdown answered %v", err)
		}
		close(release)
		e.Terminate(other, "enough")
	})
}
