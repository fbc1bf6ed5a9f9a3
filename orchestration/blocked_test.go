package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// broken registers as "main" code that cannot continue, and as "fine" code that can.
func broken(e *enginetest.Engine, fn func(*octx, none) (string, error)) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "main", fn)
	enginetest.Orchestration(e.T, reg, "fine", func(ctx *octx, _ none) (int, error) { return orchestration.CallActivity(ctx, Double, 4) })
	return reg
}

// othersGoOn checks that another instance than the broken one runs to its end.
func othersGoOn(e *enginetest.Engine) {
	e.T.Helper()
	if got := enginetest.Output[int](e, e.Create(enginetest.NewID().String(), "fine", none{})); got != 8 {
		e.T.Errorf("another instance returned %d", got)
	}
}

// mend starts a node with the right code in place of the first one.
func mend(e *enginetest.Engine, rt *runtime.Runtime, key provider.UUID, fn func(*octx, none) (string, error), want string) {
	e.T.Helper()
	e.Stop(rt)
	e.Start(broken(e, fn))
	e.Steer(key, provider.SteerUnblock)
	if got := enginetest.Output[string](e, key); got != want {
		e.T.Errorf("after the fix: %q", got)
	}
}

// A panic blocks its instance visibly, hurts nobody else, and is healed by a deploy.
func TestPanicBlocksUntilTheCodeIsFixed(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		code := func(fixed bool) func(*octx, none) (string, error) {
			return func(ctx *octx, _ none) (string, error) {
				n, err := orchestration.CallActivity(ctx, Double, 1)
				if !fixed {
					counts(nil)["x"] = n
				}
				return fmt.Sprint(n), err
			}
		}
		rt := e.Start(broken(e, code(false)))
		key := e.Create("main", "main", none{})
		b := e.WaitBlocked(key, 1).Blocked
		if b.Reason != "panic" || !strings.Contains(b.Message, "nil map") || !strings.Contains(b.Message, "blocked_test.go") || b.RetryAt == 0 {
			e.T.Errorf("%+v", b)
		}
		othersGoOn(e)
		if e.WaitBlocked(key, 2).Status != provider.StatusRunning {
			e.T.Error("the instance did not stay running")
		}
		mend(e, rt, key, code(true), "2")
	})
}

// A panicking instance is retried for as long as it takes. After a night of retries it is still not
// held, and the morning's deploy heals it without help from a person.
func TestHazard13_PanicIsRetriedForEver(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var fixed atomic.Bool
		e.Start(broken(e, func(ctx *octx, _ none) (string, error) {
			if !fixed.Load() {
				panic("not yet")
			}
			return "done", nil
		}))
		key := e.Create("main", "main", none{})
		b := e.WaitBlocked(key, 40).Blocked
		if b.Reason != "panic" || b.RetryAt == 0 {
			e.T.Errorf("%+v", b)
		}
		fixed.Store(true)
		if got := enginetest.Output[string](e, key); got != "done" {
			e.T.Errorf("got %q", got)
		}
	})
}

// A panic in another coroutine, in a deferred function, or with a strange value is the
// same; runtime.Goexit is no way out either.
func TestEveryKindOfPanic(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		code   func(ctx *octx)
		reason string
	}{
		"coroutine": {func(ctx *octx) {
			_, _ = ctx.Go(func(*octx) error { panic("inner") }).Get(ctx)
		}, "panic"},
		"deferred":   {func(*octx) { defer panic("deferred") }, "panic"},
		"nil":        {func(*octx) { throw(nil) }, "panic"},
		"evil value": {func(*octx) { panic(evil{}) }, "panic"},
		"repanic": {func(*octx) {
			defer func() { panic(fmt.Sprint("again: ", recover())) }()
			panic("first")
		}, "panic"},
		"side effect": {func(ctx *octx) {
			_, _ = orchestration.SideEffect(ctx, func() (int, error) { panic("effect") })
		}, "panic"},
		"goexit":        {func(*octx) { exit() }, "failed"},
		"zero future":   {func(ctx *octx) { _, _ = orchestration.Future[int]{}.Get(ctx) }, "panic"},
		"deep recursed": {func(*octx) { recurse(1000) }, "panic"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				e.Start(broken(e, func(ctx *octx, _ none) (string, error) {
					if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
						return "", err
					}
					c.code(ctx)
					return "", ctx.Sleep(time.Hour)
				}))
				b := e.WaitBlocked(e.Create("main", "main", none{}), 1).Blocked
				if b.Reason != c.reason {
					e.T.Errorf("%+v", b)
				}
				othersGoOn(e)
			})
		})
	}
}

func throw(v any) { panic(v) }

// counts hides from the linter that the map is nil.
func counts(m map[string]int) map[string]int { return m }

type evil struct{}

func (evil) String() string { panic("no string either") }

func recurse(n int) {
	if n == 0 {
		panic("deep")
	}
	recurse(n - 1)
}

// A panic that the code itself recovers is its own affair.
func TestRecoveredPanicIsNoFault(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Start(broken(e, func(ctx *octx, _ none) (got string, err error) {
			defer func() {
				got = fmt.Sprint(recover())
				_, err = orchestration.CallActivity(ctx, Double, 1)
			}()
			if err := ctx.Sleep(time.Second); err != nil {
				return "", err
			}
			panic("mine")
		}))
		if got := enginetest.Output[string](e, e.Create("main", "main", none{})); got != "mine" {
			e.T.Errorf("got %q", got)
		}
	})
}

// An instance whose code no longer matches its history is Blocked, with all that is needed to find the
// place. With the right code it continues as if nothing had happened.
func TestNonDeterminismBlocksUntilTheCodeFits(t *testing.T) {
	t.Parallel()
	code := func(change bool) func(*octx, none) (string, error) {
		return func(ctx *octx, _ none) (string, error) {
			if change {
				if err := ctx.Sleep(time.Minute); err != nil {
					return "", err
				}
			}
			n, err := orchestration.CallActivity(ctx, Double, 1)
			if err != nil {
				return "", err
			}
			end, err := orchestration.Events[string](ctx, "end").Receive(ctx)
			return fmt.Sprint(n, end), err
		}
	}
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		rt := e.Start(broken(e, code(false)))
		key := e.Create("main", "main", none{})
		e.Until("it waits for the event", func() bool { return e.Get(key).HistoryLength == 3 })
		e.Stop(rt)
		rt = e.Start(broken(e, code(true)))
		e.Raise(key, "end", " end")
		b := e.WaitBlocked(key, 1).Blocked
		for _, part := range []string{`event 2`, `ActivityScheduled of "Double"`, "TimerCreated of 1m0s", "blocked_test.go:"} {
			if !strings.Contains(b.Message, part) {
				e.T.Errorf("%q is not in %s", part, b.Message)
			}
		}
		if b.Reason != "nondeterminism" {
			e.T.Errorf("reason %s", b.Reason)
		}
		othersGoOn(e)
		mend(e, rt, key, code(false), "2 end")
	})
}

// Code that blocks outside of the engine is reported with its stack, and other instances continue. The
// third time its instance is held until a person looks.
func TestHazard20_DeadlockIsReportedAndHeld(t *testing.T) {
	t.Parallel()
	for name, engineFirst := range map[string]bool{"at once": false, "after a call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				never := make(chan struct{})
				var unwound sync.WaitGroup
				var stuck atomic.Int64
				rt := e.Start(broken(e, func(ctx *octx, _ none) (string, error) {
					if engineFirst {
						unwound.Add(1)
						ctx.Go(func(ctx *octx) error {
							defer unwound.Done()
							return ctx.Sleep(time.Hour)
						})
						if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
							return "", err
						}
					}
					stuck.Add(1)
					<-never
					return "unwedged", ctx.Sleep(time.Second)
				}))
				key := e.Create("main", "main", none{})
				b := e.WaitBlocked(key, 1).Blocked
				if b.Reason != "deadlock" || !strings.Contains(b.Message, "blocked_test.go") || !strings.Contains(b.Message, "chan receive") {
					e.T.Errorf("%+v", b)
				}
				othersGoOn(e)
				if b := e.WaitBlocked(key, 3).Blocked; b.RetryAt != 0 {
					e.T.Errorf("not held at the third time: %+v", b)
				}
				e.Terminate(key, "stuck")
				othersGoOn(e)
				if n := stuck.Load(); n != 3 && n != 4 { // a fast turn gets stuck without a count
					e.T.Errorf("tried %d times", n)
				}
				close(never) // what was stuck ends at its next call into the engine
				unwound.Wait()
				synctest.Wait()
				if rt.Stats().TurnsRunning != 0 {
					e.T.Error("a turn still runs")
				}
			})
		})
	}
}

// Each use of a Context outside the code's own coroutine fails the turn with an error that says so, never the process.
func TestHazard09_ForeignGoroutineFailsTheTurn(t *testing.T) {
	t.Parallel()
	foreign := func(ctx *octx, call func()) {
		var wg sync.WaitGroup
		wg.Go(call)
		wg.Wait()
		_ = ctx
	}
	cases := map[string]func(ctx *octx){
		"sleep":    func(ctx *octx) { foreign(ctx, func() { _ = ctx.Sleep(time.Second) }) },
		"activity": func(ctx *octx) { foreign(ctx, func() { _, _ = orchestration.CallActivity(ctx, Double, 1) }) },
		"go":       func(ctx *octx) { foreign(ctx, func() { ctx.Go(func(*octx) error { return nil }) }) },
		"receive":  func(ctx *octx) { foreign(ctx, func() { _, _ = orchestration.Events[int](ctx, "x").Receive(ctx) }) },
		"errgroup": func(ctx *octx) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { _, _ = orchestration.CallActivity(ctx, Double, 1) })
			}
			wg.Wait()
		},
	}
	for name, call := range cases {
		for when, first := range map[string]bool{"first use": false, "after a call": true} {
			t.Run(name+"/"+when, func(t *testing.T) {
				t.Parallel()
				enginetest.EveryMode(t, func(e *enginetest.Engine) {
					e.Start(broken(e, func(ctx *octx, _ none) (string, error) {
						if first {
							_ = ctx.Now()
						}
						call(ctx)
						return "", ctx.Sleep(time.Hour)
					}))
					b := e.WaitBlocked(e.Create("main", "main", none{}), 1).Blocked
					if b.Reason != "foreign-call" || !strings.Contains(b.Message, "blocked_test.go") {
						e.T.Errorf("%+v", b)
					}
					othersGoOn(e)
				})
			})
		}
	}
}

// A goroutine that is left running may call at any time, also when its code has long been evicted. It
// ends there, without any other effect.
func TestHazard09_ForeignGoroutineThatComesLate(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var late sync.WaitGroup
		e.Start(broken(e, func(ctx *octx, _ none) (string, error) {
			wake := make(chan struct{})
			late.Go(func() {
				<-wake
				_, _ = orchestration.CallActivity(ctx, Double, 1)
			})
			defer close(wake) // also when it is unwound
			return "done", ctx.Sleep(time.Minute)
		}))
		key := e.Create("main", "main", none{})
		if got := enginetest.Output[string](e, key); got != "done" {
			e.T.Errorf("got %q", got)
		}
		late.Wait()
		if kinds := kinds(e.History(key, 1)); strings.Contains(kinds, "Activity") {
			e.T.Errorf("the late call was recorded: %s", kinds)
		}
	})
}

// A loop that recovers everything and tries again, as ordinary code does, does not keep an eviction
// from ending. Neither the loop nor a call of a deferred function continues.
func TestHazard08_RecoverInALoopDoesNotSpin(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var rounds, after atomic.Int64
		key := start(e, registry(e.T), func(ctx *octx, _ none) (int, error) {
			slept := 0
			for slept < 5 {
				func() {
					defer func() { _ = recover() }()
					defer func() {
						_ = ctx.Err() // unwinds a second time
						after.Add(1)
					}()
					rounds.Add(1)
					if err := ctx.Sleep(time.Hour); err == nil {
						slept++
					}
				}()
			}
			return slept, nil
		}, none{})
		if got := enginetest.Output[int](e, key); got != 5 {
			e.T.Errorf("got %d", got)
		}
		// Each of five turns replays at most five rounds, and only those that slept come to their end.
		if began, ended := rounds.Load(), after.Load(); began > 25 || ended > 20 {
			e.T.Errorf("%d rounds began, %d ended", began, ended)
		}
	})
}

// The actions of an unwound coroutine in its defers are not recorded.
func TestUnwindingRecordsNothing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var calls atomic.Int64
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "undo", func(context.Context, none) (none, error) {
			calls.Add(1)
			return none{}, nil
		})
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			defer func() { _, _ = orchestration.CallActivityNamed[none](ctx, "undo", none{}) }()
			_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
			return none{}, err
		}, none{})
		for range 5 {
			e.Raise(key, "noise", none{})
		}
		e.Raise(key, "end", none{})
		if _, err := enginetest.Result[none](e, key, nil); err != nil || calls.Load() != 1 {
			e.T.Errorf("%v, undone %d times", errors.Join(err), calls.Load())
		}
	})
}
