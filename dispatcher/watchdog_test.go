package dispatcher_test

import (
	"context"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// obstinate is an activity that does not obey its context: it waits for release.
func obstinate(release <-chan struct{}) func(context.Context, int) (int, error) {
	return func(_ context.Context, n int) (int, error) {
		<-release
		return n, nil
	}
}

// after waits, in virtual time, until that long has passed since began.
func after(began time.Time, d time.Duration) {
	time.Sleep(time.Until(began.Add(d))) //nolint:forbidigo // virtual time
	synctest.Wait()
}

// leakedOne returns the one piece of work that has not come back.
func leakedOne(e *enginetest.Engine, rt *runtime.Runtime) runtime.LeakedWork {
	e.T.Helper()
	all := rt.Leaked()
	if len(all) != 1 {
		e.T.Fatalf("not back: %+v", all)
	}
	return all[0]
}

// Code that does not return is watched for the grace period, then leaked, then abandoned after an hour. It is
// interrupted after 1, 3, 7, 15 ... s, at last each minute. When it returns even so, it is off the list.
func TestWatchdogGoesThroughItsStates(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const timeout = time.Minute
		release := make(chan struct{})
		var began time.Time
		var interrupts enginetest.Notes[time.Duration]
		work := obstinate(release)
		rt := e.Start(single(e, func(ctx context.Context, n int) (int, error) {
			began = time.Now().Add(timeout)
			activity.OnInterrupt(ctx, func(attempt int) {
				if got := interrupts.Add(time.Since(began)); got != attempt {
					e.T.Errorf("interrupt %d is told to be %d", got, attempt)
				}
			})
			return work(ctx, n)
		}, orchestration.WithStartToCloseTimeout(timeout)))
		key := e.Create("single", "single", 1)
		synctest.Wait()

		want := []time.Duration{}
		for at, pause := time.Second, time.Second; at < time.Hour; at += pause {
			want = append(want, at)
			pause = min(2*pause, time.Minute)
		}
		after(began, -1)
		if all := rt.Leaked(); len(all) > 0 {
			e.T.Errorf("before its cancellation: %+v", all)
		}
		for _, look := range []struct {
			at         time.Duration
			state      runtime.LeakState
			interrupts int
			running    int64
		}{
			{0, runtime.LeakWatching, 0, 0},
			{time.Second, runtime.LeakWatching, 1, 0},
			{10*time.Second - 1, runtime.LeakWatching, 3, 0},
			{10 * time.Second, runtime.LeakLeaked, 3, 1},
			{time.Hour - 1, runtime.LeakLeaked, 64, 1},
			{time.Hour, runtime.LeakGaveUp, 64, 1},
			{24 * time.Hour, runtime.LeakGaveUp, 64, 1},
		} {
			after(began, look.at)
			got := leakedOne(e, rt)
			if got.State != look.state || got.Interrupts != look.interrupts || !strings.Contains(got.Stack, "obstinate") {
				e.T.Errorf("after %v: %+v", look.at, got)
			}
			s := rt.Stats()
			if s.LeaksRunning != look.running || s.LeakedInstances != look.running || s.LeaksWatched != 1-look.running || s.AttemptsRunning != 1-look.running {
				e.T.Errorf("after %v: %+v", look.at, s)
			}
		}
		if got := interrupts.All(); !slices.Equal(got, want) {
			e.T.Errorf("interrupted after %v, want %v", got, want)
		}
		got := leakedOne(e, rt)
		got.Stack = ""
		if want := (runtime.LeakedWork{
			Kind: runtime.LeakedActivity, Name: "work", InstanceID: "single", Execution: 1, Attempt: 1, State: runtime.LeakGaveUp,
			Cause: (&activity.TimeoutError{Kind: activity.StartToClose}).Error(), Since: began, Interrupts: 64,
		}); got != want {
			e.T.Errorf("%+v, want %+v", got, want)
		}
		if s := rt.Stats(); s.LeaksGivenUp != 1 || s.AttemptsLeaked != 1 {
			e.T.Errorf("%+v", s)
		}
		close(release)
		synctest.Wait()
		if s := rt.Stats(); s.LeaksRunning+s.LeaksWatched+s.LeaksGivenUp+s.LeakedInstances != 0 || s.LeaksRecovered != 1 || len(rt.Leaked()) != 0 {
			e.T.Errorf("back: %+v, %+v", rt.Leaked(), s)
		}
		e.WaitEnded(key)
		results(e, key)
	})
}

// An activity that comes back within the grace period is no leak.
func TestWatchdogForgetsWhatComesBackInTime(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		release := make(chan struct{})
		var came enginetest.Notes[int]
		work := obstinate(release)
		rt := e.Start(single(e, func(ctx context.Context, n int) (int, error) {
			activity.OnInterrupt(ctx, func(attempt int) {
				if came.Add(attempt) == 2 { // 3 s after the timeout
					close(release)
				}
			})
			return work(ctx, n)
		}, orchestration.WithStartToCloseTimeout(time.Second)))
		key := e.Create("single", "single", 1)
		began := time.Now()
		if got := enginetest.Output[int](e, key); got != 1 {
			e.T.Errorf("got %d", got)
		}
		if took := time.Since(began); took < 4*time.Second || took > 5*time.Second {
			e.T.Errorf("took %v", took)
		}
		after(began, time.Hour)
		if s := rt.Stats(); len(came.All()) != 2 || s.AttemptsLeaked != 0 || s.LeaksRecovered != 0 || len(rt.Leaked()) != 0 {
			e.T.Errorf("interrupted %v, %+v", came.All(), s)
		}
	})
}

// Each setting of the watchdog can be changed and switched off.
func TestWatchdogSettings(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	seconds := func(all ...int) (d []time.Duration) {
		for _, s := range all {
			d = append(d, time.Duration(s)*time.Second)
		}
		return d
	}
	for name, c := range map[string]struct {
		opts       runtime.Options
		interrupts []time.Duration // within 200 s
		leaked     time.Duration
		gaveUp     time.Duration // 0: not within 200 s
	}{
		"no interrupts":      {runtime.Options{Leaks: runtime.LeakOptions{InterruptInterval: runtime.Off}}, nil, 10 * time.Second, 0},
		"no bound of pauses": {runtime.Options{Leaks: runtime.LeakOptions{MaxInterruptInterval: runtime.Off}}, seconds(1, 3, 7, 15, 31, 63, 127), 10 * time.Second, 0},
		"early end":          {runtime.Options{Leaks: runtime.LeakOptions{GiveUpAfter: 15 * time.Second}}, seconds(1, 3, 7), 10 * time.Second, 15 * time.Second},
		"end before the grace period is over": {
			runtime.Options{Leaks: runtime.LeakOptions{GiveUpAfter: time.Second, GracePeriod: 20 * time.Second}}, seconds(1, 3, 7, 15), 20 * time.Second, 20 * time.Second,
		},
		"long pauses":     {runtime.Options{Leaks: runtime.LeakOptions{InterruptInterval: 90 * time.Second}}, seconds(90, 180), 10 * time.Second, 0},
		"steady pauses":   {runtime.Options{Leaks: runtime.LeakOptions{InterruptInterval: 50 * time.Second, MaxInterruptInterval: 1}}, seconds(50, 100, 150), 10 * time.Second, 0},
		"no grace period": {runtime.Options{Leaks: runtime.LeakOptions{GracePeriod: runtime.Off, GiveUpAfter: runtime.Off}}, seconds(1, 3, 7, 15, 31, 63, 123, 183), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, c.opts, func(e *enginetest.Engine) {
				release := make(chan struct{})
				defer close(release)
				var interrupts enginetest.Notes[time.Duration]
				var began time.Time
				work := obstinate(release)
				rt := e.Start(single(e, func(ctx context.Context, n int) (int, error) {
					began = time.Now().Add(time.Second)
					activity.OnInterrupt(ctx, func(int) { interrupts.Add(time.Since(began)) })
					return work(ctx, n)
				}, orchestration.WithStartToCloseTimeout(time.Second)))
				e.Create("single", "single", 1)
				synctest.Wait()
				for at := time.Duration(0); at < 200*time.Second; at += time.Second {
					after(began, at)
					state := runtime.LeakWatching
					if at >= c.leaked {
						state = runtime.LeakLeaked
					}
					if c.gaveUp > 0 && at >= c.gaveUp {
						state = runtime.LeakGaveUp
					}
					if got := leakedOne(e, rt); got.State != state {
						e.T.Fatalf("after %v: %+v", at, got)
					}
				}
				if got := interrupts.All(); !slices.Equal(got, c.interrupts) {
					e.T.Errorf("interrupted after %v, want %v", got, c.interrupts)
				}
			})
		})
	}
}

// Turns that are stuck and evictions that hang stand on the same list, and leave it when they come back.
func TestWatchdogListsOrchestrationCode(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}, func(e *enginetest.Engine) {
		block, wake := make(chan struct{}), make(chan struct{})
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "block", blocker(block))
		var entered atomic.Bool
		enginetest.Orchestration(e.T, reg, "stuck", func(ctx *octx, _ none) (none, error) {
			if entered.CompareAndSwap(false, true) {
				<-wake
			}
			_ = ctx.Now()
			return none{}, nil
		})
		rt := e.Start(reg)
		began := time.Now()
		blocked := e.Create("block", "block", none{})
		stuck := e.Create("stuck", "stuck", none{})
		e.Until("both are given up", func() bool { return rt.Stats().EvictionsStuck == 1 && rt.Stats().TurnsStuck == 1 })
		check := func(state runtime.LeakState) {
			e.T.Helper()
			all := rt.Leaked()
			slices.SortFunc(all, func(a, b runtime.LeakedWork) int { return strings.Compare(a.Kind, b.Kind) })
			if len(all) != 2 || all[0].Kind != runtime.LeakedEviction || all[0].Name != "block" || all[0].InstanceID != "block" ||
				all[1].Kind != runtime.LeakedTurn || all[1].Name != "stuck" || all[1].InstanceID != "stuck" || all[0].Attempt+all[1].Attempt != 0 {
				e.T.Fatalf("%+v", all)
			}
			for _, w := range all {
				if w.State != state || !strings.Contains(w.Stack, "dispatcher_test.") || w.Since.Sub(began) > 3*time.Second || w.Cause == "" {
					e.T.Errorf("%+v", w)
				}
			}
		}
		check(runtime.LeakWatching)
		after(began, 13*time.Second)
		check(runtime.LeakLeaked)
		after(began, time.Hour+3*time.Second)
		check(runtime.LeakGaveUp)
		close(block)
		close(wake)
		synctest.Wait()
		if s := rt.Stats(); len(rt.Leaked()) != 0 || s.LeaksRecovered != 2 || s.LeaksRunning != 0 {
			e.T.Errorf("%+v, %+v", rt.Leaked(), s)
		}
		e.Raise(blocked, "end", none{})
		e.WaitEnded(blocked)
		e.WaitEnded(stuck)
	})
}

// A function given to OnInterrupt may panic, hang, or end its goroutine. Nobody else suffers, and the next interrupt
// comes. A function that hangs is not called again. A withdrawn function is not called.
func TestInterruptHooksHarmNobody(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		release, hang := make(chan struct{}), make(chan struct{})
		var calls enginetest.Notes[string]
		var lines strings.Builder
		e.Options.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		work := obstinate(release)
		rt, err := runtime.Start(e.T.Context(), e.Store, single(e, func(ctx context.Context, n int) (int, error) {
			activity.OnInterrupt(ctx, func(attempt int) {
				calls.Add(fmt.Sprint("panic ", attempt))
				panic("boom")
			})
			activity.OnInterrupt(ctx, func(attempt int) {
				calls.Add(fmt.Sprint("exit ", attempt))
				goruntime.Goexit()
			})
			activity.OnInterrupt(ctx, func(attempt int) {
				calls.Add(fmt.Sprint("hang ", attempt))
				<-hang
			})
			stop := activity.OnInterrupt(ctx, func(int) { e.T.Error("was taken back") })
			stop()
			stop()
			return work(ctx, n)
		}, orchestration.WithStartToCloseTimeout(time.Second)), e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		key := e.Create("single", "single", 1)
		began := time.Now().Add(time.Second)
		after(began, 5*time.Second)
		got := calls.All()
		slices.Sort(got)
		if want := []string{"exit 1", "exit 2", "hang 1", "panic 1", "panic 2"}; !slices.Equal(got, want) {
			e.T.Errorf("called %v, want %v", got, want)
		}
		close(release)
		if got := enginetest.Output[int](e, key); got != 1 {
			e.T.Errorf("got %d", got)
		}
		at := time.Now()
		err = rt.Shutdown(e.T.Context())
		if want := `user code is still running: 1 functions of activity.OnInterrupt do not return: activity "work" of instance "single"`; err == nil || err.Error() != want {
			e.T.Errorf("shutdown answered %v", err)
		}
		if took := time.Since(at); took != 30*time.Second {
			e.T.Errorf("took %v", took)
		}
		if n := strings.Count(lines.String(), "panic=boom"); n != 2 {
			e.T.Errorf("%d panics were logged:\n%s", n, &lines)
		}
		close(hang)
	})
}

// Shutdown releases leases before it waits for code that does not return, so that another node continues meanwhile.
// Code that returns during that wait is no leak. The rest is named.
func TestShutdownWaitsForTheWatchdog(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]time.Duration{"back in time": 25 * time.Second, "not back": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				release, began := make(chan struct{}), make(chan struct{})
				var interrupts enginetest.Notes[int]
				work := obstinate(release)
				rt, err := runtime.Start(e.T.Context(), e.Store, single(e, func(ctx context.Context, n int) (int, error) {
					activity.OnInterrupt(ctx, func(attempt int) { interrupts.Add(attempt) })
					close(began)
					return work(ctx, n)
				}), e.Options)
				if err != nil {
					e.T.Fatal(err)
				}
				key := e.Create("single", "single", 1)
				<-began
				at := time.Now()
				if back > 0 {
					time.AfterFunc(back, func() { close(release) })
				}
				next := make(chan time.Duration)
				go func() {
					time.Sleep(10*time.Second + 1) //nolint:forbidigo // virtual time: running activities were cancelled
					e.Start(single(e, func(_ context.Context, n int) (int, error) { return 2 * n, nil }))
					e.WaitEnded(key)
					next <- time.Since(at)
				}()
				err = rt.Shutdown(e.T.Context())
				took := time.Since(at)
				if done := <-next; done < 15*time.Second || done > 16*time.Second {
					e.T.Errorf("the next node was done after %v", done)
				}
				if back > 0 {
					if err != nil || took != back {
						e.T.Errorf("after %v: %v", took, err)
					}
					return
				}
				want := `user code is still running: activity "work" of instance "single", attempt 1: still running 35s after it should have returned (activity: node shuts down)`
				if err == nil || err.Error() != want || took != 45*time.Second {
					e.T.Errorf("after %v: %v", took, err)
				}
				// Nothing of the node continues, and its leaks are still reported.
				after(at, time.Hour)
				if n := len(interrupts.All()); n != 5 {
					e.T.Errorf("interrupted %d times", n)
				}
				leakedOne(e, rt)
				close(release)
				synctest.Wait()
				if all := rt.Leaked(); len(all) != 0 {
					e.T.Errorf("%+v", all)
				}
			})
		})
	}
}

// The finished context of any caller ends the waits of Shutdown, not only that of the first.
func TestShutdownHurriesForEveryCaller(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		release := make(chan struct{})
		rt, err := runtime.Start(e.T.Context(), e.Store, single(e, obstinate(release)), e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		e.Create("single", "single", 1)
		synctest.Wait()
		at := time.Now()
		first := make(chan error)
		go func() { first <- rt.Shutdown(context.WithoutCancel(e.T.Context())) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(e.T.Context(), 3*time.Second)
		defer cancel()
		second := rt.Shutdown(ctx)
		if one := <-first; one == nil || second == nil || one.Error() != second.Error() {
			e.T.Errorf("%v and %v", one, second)
		}
		if took := time.Since(at); took < 3*time.Second || took > 9*time.Second {
			e.T.Errorf("took %v", took)
		}
		close(release)
	})
}

// A storage that does not take the report of a leaked attempt does not hold up its interrupts.
func TestWatchdogKeepsTimeDuringAnOutage(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		release := make(chan struct{})
		var interrupts enginetest.Notes[time.Duration]
		var began time.Time
		work := obstinate(release)
		e.StartOn(node, single(e, func(ctx context.Context, n int) (int, error) {
			began = time.Now().Add(time.Second)
			activity.OnInterrupt(ctx, func(int) { interrupts.Add(time.Since(began).Round(time.Second)) })
			return work(ctx, n)
		}, orchestration.WithStartToCloseTimeout(time.Second), orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2})), e.Options)
		key := e.Create("single", "single", 1)
		synctest.Wait()
		plan.StartOutage()
		after(began, 16*time.Second)
		if got := interrupts.All(); len(got) != 4 || got[3] != 15*time.Second {
			e.T.Errorf("interrupted after %v", got)
		}
		plan.EndOutage()
		close(release)
		e.WaitEnded(key)
		results(e, key)
	})
}
