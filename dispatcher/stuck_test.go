package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Code that was abandoned as stuck wakes while its instance runs anew. It ends at its next call into the engine and
// touches nothing.
func TestHazard20_AbandonedCodeTouchesNothing(t *testing.T) {
	t.Parallel()
	for name, cached := range map[string]bool{"first turn": false, "later turn": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				wake, unwound := make(chan struct{}), make(chan struct{})
				var entered, late, ran atomic.Int64
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) {
					ran.Add(1)
					return n, nil
				})
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
					box := orchestration.Events[int](ctx, "box")
					if cached {
						if _, err := box.Receive(ctx); err != nil {
							return 0, err
						}
					}
					if entered.Add(1) == 1 {
						defer close(unwound)
						<-wake
						_ = ctx.Now()
						late.Add(1)
						_, _ = orchestration.CallActivityNamed[int](ctx, "work", 100)
					}
					n, err := box.Receive(ctx)
					if err != nil {
						return 0, err
					}
					return orchestration.CallActivityNamed[int](ctx, "work", n)
				})
				rt := e.Start(reg)
				key := e.Create("main", "main", none{})
				if cached {
					synctest.Wait()
					e.Raise(key, "box", 1)
				}
				if b := e.WaitBlocked(key, 1).Blocked; b.Reason != "deadlock" {
					e.T.Errorf("%+v", b)
				}
				e.Until("it runs anew", func() bool { return entered.Load() == 2 && e.Get(key).Blocked == nil })
				before := e.Get(key)
				close(wake)
				<-unwound
				synctest.Wait()
				if i := e.Get(key); i.Version != before.Version || late.Load() != 0 || ran.Load() != 0 {
					e.T.Errorf("went on %d times, %d activities, was %+v, is %+v", late.Load(), ran.Load(), before, i)
				}
				e.Raise(key, "box", 7)
				if got := enginetest.Output[int](e, key); got != 7 || ran.Load() != 1 {
					e.T.Errorf("got %d after %d activities", got, ran.Load())
				}
				if s := rt.Stats(); s.TurnsStuck != 1 || s.TurnsRunning != 0 {
					e.T.Errorf("%+v", s)
				}
			})
		})
	}
}

// The limit is for one resume of code. Many resumes, each with a call into the engine, are no deadlock. The replay of a
// long history is none either.
func TestHazard20_LimitIsForOneResume(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Options.Lease = time.Hour // a replay takes longer than the usual one
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "slow", func(ctx *octx, n int) (int, error) {
			box := orchestration.Events[int](ctx, "box")
			for range n {
				if _, err := box.Receive(ctx); err != nil {
					return 0, err
				}
				time.Sleep(1500 * time.Millisecond) //nolint:forbidigo // virtual time
			}
			for range n {
				_ = ctx.Now()
				time.Sleep(1500 * time.Millisecond) //nolint:forbidigo // virtual time
			}
			return n, nil
		})
		rt := e.Start(reg)
		key := e.Create("slow", "slow", 12)
		for range 6 { // in turns of their own, so that the replay is of some length
			e.Raise(key, "box", 0)
			synctest.Wait()
			time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		}
		for range 6 { // all in one turn
			e.Raise(key, "box", 0)
		}
		if got := enginetest.Output[int](e, key); got != 12 {
			e.T.Errorf("got %d", got)
		}
		if s := rt.Stats(); s.TurnsStuck != 0 || s.TurnsFailed != 0 {
			e.T.Errorf("%+v", s)
		}
	})
}

// A node that is shut down while a turn is stuck hands its lease back, uncounted, also if nobody watches for deadlocks.
func TestHazard20_ShutdownEndsTheLeaseOfAStuckTurn(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{DeadlockLimit: runtime.Off}, func(e *enginetest.Engine) {
		wake := make(chan struct{})
		var entered atomic.Int64
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int64, error) {
			n := entered.Add(1)
			if n == 1 {
				<-wake
			}
			_ = ctx.Now()
			return n, nil
		})
		rt, err := runtime.Start(e.T.Context(), e.Store, reg, e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		key := e.Create("main", "main", none{})
		synctest.Wait()
		finished, cancel := context.WithCancel(e.T.Context())
		cancel()
		began := time.Now()
		if err := rt.Shutdown(finished); !errors.Is(err, runtime.ErrLeaked) {
			e.T.Errorf("shutdown answered %v", err)
		}
		if d := e.Get(key).Deliveries; d != 0 {
			e.T.Errorf("%d deliveries", d)
		}
		e.Start(reg)
		if got := enginetest.Output[int64](e, key); got != 2 {
			e.T.Errorf("run %d answered", got)
		}
		if took := time.Since(began); took > 6*time.Second {
			e.T.Errorf("the next node waited %v", took)
		}
		close(wake)
	})
}

// Code may return in the very moment in which the watch gives it up, in a replay as in a turn. One of the two ends the turn, never both:
// each slot comes back once, and each instance ends once.
func TestHazard93_CodeThatReturnsAtTheLimit(t *testing.T) {
	t.Parallel()
	const limit, instances = time.Second, 20
	for name, cache := range map[string]int{"in turns": 100, "in replays": runtime.Off} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := runtime.Options{DeadlockLimit: limit, MaxConcurrentTurns: instances, Cache: runtime.CacheOptions{Executions: cache}}
			enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
				var ended atomic.Int64
				runs := make([]atomic.Int64, instances)
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
					box := orchestration.Events[int](ctx, "box")
					run := runs[n].Add(1)
					// The watch looks eight times in a limit. In a replay, this is code that has run before.
					if (cache == runtime.Off) == (run == 2) {
						time.Sleep(limit + time.Duration(n%3)*limit/8) //nolint:forbidigo // virtual time
					}
					if _, err := box.Receive(ctx); err != nil {
						return 0, err
					}
					ended.Add(1)
					return n, nil
				})
				rt := e.Start(reg)
				keys := make([]provider.UUID, instances)
				for n := range instances {
					keys[n] = e.Create(fmt.Sprint("main", n), "main", n)
				}
				synctest.Wait()
				for n := range instances {
					e.Raise(keys[n], "box", 1)
				}
				for n := range instances {
					if got := enginetest.Output[int](e, keys[n]); got != n {
						e.T.Errorf("instance %d ends with %d", n, got)
					}
				}
				time.Sleep(time.Minute) //nolint:forbidigo // virtual time
				s := rt.Stats()
				if s.TurnsRunning != 0 || s.TurnsStuck == 0 || s.TurnsStuck == instances || ended.Load() < instances {
					e.T.Errorf("%d ends, %+v", ended.Load(), s)
				}
				again := time.Now()
				if got := enginetest.Output[int](e, e.Create("chain", "Chain", 3)); got != 8 || time.Since(again) > limit {
					e.T.Errorf("the next instance ends with %d after %v", got, time.Since(again))
				}
				e.T.Logf("%d turns were given up, %d runs reached the end", s.TurnsStuck, ended.Load())
			})
		})
	}
}
