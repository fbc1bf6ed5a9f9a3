package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// locked holds the mutex for some time.
func locked(ctx *octx, mu *orchestration.Mutex, d time.Duration) error {
	if err := mu.Lock(ctx); err != nil {
		return err
	}
	defer mu.Unlock()
	return ctx.Sleep(d)
}

// Those that wait get the lock in their order. Those whose scope has ended are passed, and hold nothing.
func TestHazard123_MutexIsHandedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code script
		want []string
	}{
		"first come, first served": {func(ctx *octx, note func(string, ...any)) error {
			var mu orchestration.Mutex
			g := orchestration.NewGroup(ctx)
			for i := range 3 {
				g.Go(func(ctx *octx) error {
					err := locked(ctx, &mu, time.Hour)
					note("%d", i)
					return err
				})
			}
			return errors.Join(g.Wait(), locked(ctx, &mu, time.Hour))
		}, []string{"1h 0", "2h 1", "3h 2", "ok"}},
		"one gives up": {func(ctx *octx, note func(string, ...any)) error {
			var mu orchestration.Mutex
			g := orchestration.NewGroup(ctx)
			g.Go(func(ctx *octx) error { return locked(ctx, &mu, 2*time.Hour) })
			g.Go(func(ctx *octx) error {
				scope, cancel := ctx.WithTimeout(time.Hour)
				defer cancel()
				note("%s", kindOf(mu.Lock(scope)))
				return nil
			})
			g.Go(func(ctx *octx) error {
				err := locked(ctx, &mu, time.Hour)
				note("third")
				return err
			})
			return g.Wait()
		}, []string{"1h timeout", "3h third", "ok"}},
		"cancelled before the hand-over": {func(ctx *octx, note func(string, ...any)) error {
			var mu orchestration.Mutex
			scope, cancel := ctx.WithCancel()
			err := mu.Lock(ctx)
			first := scope.Go(func(ctx *octx) error {
				err := mu.Lock(ctx)
				note("first %s", kindOf(err))
				return nil
			})
			second := ctx.Go(func(ctx *octx) error {
				err := locked(ctx, &mu, time.Hour)
				note("second %s", kindOf(err))
				return nil
			})
			err = errors.Join(err, ctx.Sleep(time.Hour))
			cancel()
			mu.Unlock()
			_, all := orchestration.All(ctx, first, second)
			return errors.Join(err, all)
		}, []string{"1h first cancelled", "2h second ok", "ok"}},
		"cancelled after the hand-over": {func(ctx *octx, note func(string, ...any)) error {
			var mu orchestration.Mutex
			scope, cancel := ctx.WithCancel()
			err := mu.Lock(ctx)
			first := scope.Go(func(ctx *octx) error {
				err := mu.Lock(ctx)
				note("first %s", kindOf(err))
				if err == nil {
					mu.Unlock()
				}
				return nil
			})
			err = errors.Join(err, ctx.Sleep(time.Hour))
			mu.Unlock()
			cancel()
			_, firstErr := first.Get(ctx)
			return errors.Join(err, firstErr, locked(ctx, &mu, time.Hour))
		}, []string{"1h first ok", "ok"}},
		"free, in a scope that is over": {func(ctx *octx, note func(string, ...any)) error {
			var mu orchestration.Mutex
			scope, cancel := ctx.WithCancel()
			cancel()
			note("%s", kindOf(mu.Lock(scope)))
			return locked(ctx, &mu, time.Hour) // it is free
		}, []string{"0h cancelled", "ok"}},
		"unlocked by another coroutine": {func(ctx *octx, note func(string, ...any)) error {
			var mu orchestration.Mutex
			err := mu.Lock(ctx)
			ctx.Go(func(ctx *octx) error {
				defer mu.Unlock()
				return ctx.Sleep(time.Hour)
			})
			err = errors.Join(err, mu.Lock(ctx))
			note("locked again")
			return err
		}, []string{"1h locked again", "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.code.inEveryWay(t, c.want...)
		})
	}
}

// A coroutine that returns without unlocking is the error of those that wait, and of those that come later.
func TestHazard123_DeadHolder(t *testing.T) {
	t.Parallel()
	script(func(ctx *octx, note func(string, ...any)) error {
		var mu orchestration.Mutex
		holder := ctx.Go(func(ctx *octx) error { return errors.Join(mu.Lock(ctx), ctx.Sleep(time.Hour)) })
		waiter := ctx.Go(func(ctx *octx) error {
			err := mu.Lock(ctx)
			note("%s", kindOf(err))
			return nil
		})
		_, err := orchestration.All(ctx, holder, waiter)
		note("%s", kindOf(mu.Lock(ctx)))
		return errors.Join(err, ctx.Sleep(time.Hour))
	}).inEveryWay(t, "1h invalid", "1h invalid", "ok")
}

// The function of the orchestration returns while a coroutine of it has a lock and another one waits for one. Handlers do not wait for them.
func TestHazard123_LocksOutliveTheFunction(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			var mine, theirs orchestration.Mutex
			entered := 0
			ctx.Go(func(ctx *octx) error { return errors.Join(mine.Lock(ctx), ctx.Sleep(1000*time.Hour)) })
			orchestration.HandleUpdate(ctx, "enter", func(ctx *octx, _ none) (string, error) {
				if entered++; entered > 1 {
					err := theirs.Lock(ctx) // behind a coroutine of the function
					return "second " + kindOf(err), nil
				}
				if err := theirs.Lock(ctx); err != nil {
					return "", err
				}
				err := mine.Lock(ctx)
				theirs.Unlock()
				return "first " + kindOf(err), nil
			})
			ctx.Go(func(ctx *octx) error {
				_, err := orchestration.Events[none](ctx, "wait").Receive(ctx)
				return errors.Join(err, theirs.Lock(ctx.Detached()))
			})
			_, err := orchestration.Events[none](ctx, "return").Receive(ctx)
			return "main", err
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		h, err := client.StartNamed[string](e.T.Context(), c, "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		send := func() client.UpdateHandle[string] {
			u, err := client.SendUpdate[string](e.T.Context(), h, "enter", none{})
			if err == nil {
				_, err = u.Wait(e.T.Context(), client.UntilAccepted())
			}
			if err != nil {
				e.T.Fatal(err)
			}
			return u
		}
		e.Until("a coroutine has the lock and sleeps", func() bool { return strings.Contains(kinds(e.History(h.Key(), 1)), "TimerCreated") })
		first := send()
		e.Raise(h.Key(), "wait", none{})
		e.Until("the coroutine waits", func() bool { return strings.Contains(kinds(e.History(h.Key(), 1)), "EventReceived") })
		second := send()
		e.Raise(h.Key(), "return", none{})
		got := make([]string, 0, 3)
		for _, u := range []client.UpdateHandle[string]{first, second} {
			out, err := u.Wait(e.T.Context())
			got = append(got, fmt.Sprint(out, err))
		}
		if out, err := h.Wait(e.T.Context()); fmt.Sprint(got) != "[first invalid<nil> second ok<nil>]" || out != "main" || err != nil {
			e.T.Errorf("updates %v, function %q, %v", got, out, err)
		}
		enginetest.Replays(e, h)
	})
}

// A handler that is abandoned when the function continues as new never unlocks. What the function defers does not wait for it.
func TestHazard123_AbandonedHolder(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		main := orchestration.Define("main", func(ctx *octx, round int) (out int, err error) {
			if round > 0 {
				return round, nil
			}
			var mu orchestration.Mutex
			orchestration.HandleEvent(ctx, "hold", func(ctx *octx, _ none) error { return locked(ctx, &mu, 24*time.Hour) }, orchestration.AbandonAtEnd())
			defer func() {
				if locked := mu.Lock(ctx.Detached()); kindOf(locked) != "invalid" {
					t.Errorf("the lock of an abandoned handler: %v", locked)
				}
			}()
			if err := ctx.Sleep(time.Hour); err != nil {
				return 0, err
			}
			return 0, orchestration.ContinueAsNewAfterHandlers(ctx, func() int { return round + 1 })
		})
		h := orchestrationtest.Start(e, main, 0)
		if err := h.Raise(e.Context(), "hold", none{}); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Wait(e.Context()); got != 1 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
	})
}

// A coroutine of the function waits at the front for more than there is. When the function returns, it never gets that, and a handler behind
// it goes on at once.
func TestHazard123_WaiterThatNeverContinues(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		main := orchestration.Define("main", func(ctx *octx, _ none) (string, error) {
			began := ctx.Now()
			sem := orchestration.NewSemaphore(2)
			orchestration.HandleEvent(ctx, "hold", func(ctx *octx, _ none) error {
				if err := sem.Acquire(ctx, 1); err != nil {
					return err
				}
				defer sem.Release(1)
				return ctx.Sleep(5 * time.Minute)
			})
			orchestration.HandleUpdate(ctx, "behind", func(ctx *octx, _ none) (time.Duration, error) {
				if err := sem.Acquire(ctx, 1); err != nil {
					return 0, err
				}
				defer sem.Release(1)
				return ctx.Now().Sub(began), nil
			})
			if err := ctx.Sleep(time.Minute); err != nil { // the handler of the event holds one unit
				return "", err
			}
			ctx.Go(func(ctx *octx) error { return sem.Acquire(ctx, 2) })
			return "", ctx.Sleep(time.Minute)
		})
		h := orchestrationtest.Start(e, main, none{})
		if err := h.Raise(e.Context(), "hold", none{}); err != nil {
			t.Fatal(err)
		}
		e.After(90*time.Second, func() error {
			waited, err := client.Update[time.Duration](e.Context(), h.Handle, "behind", none{})
			if waited != 2*time.Minute {
				t.Errorf("it got its unit after %v, want when the function returned", waited)
			}
			return err
		})
		if _, err := h.Wait(e.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestHazard123_Semaphore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code script
		want []string
	}{
		"one that wants many is not passed": {func(ctx *octx, note func(string, ...any)) error {
			sem := orchestration.NewSemaphore(3)
			g := orchestration.NewGroup(ctx)
			for _, n := range []int{2, 3, 1} {
				g.Go(func(ctx *octx) error {
					if err := sem.Acquire(ctx, n); err != nil {
						return err
					}
					defer sem.Release(n)
					note("%d", n)
					return ctx.Sleep(time.Hour)
				})
			}
			return g.Wait()
		}, []string{"0h 2", "1h 3", "2h 1", "ok"}},
		"the first one gives up": {func(ctx *octx, note func(string, ...any)) error {
			sem := orchestration.NewSemaphore(3)
			scope, cancel := ctx.WithTimeout(time.Hour)
			defer cancel()
			err := sem.Acquire(ctx, 2)
			first := scope.Go(func(ctx *octx) error {
				note("%s", kindOf(sem.Acquire(ctx, 3)))
				return nil
			})
			second := ctx.Go(func(ctx *octx) error {
				defer sem.Release(1)
				err := sem.Acquire(ctx, 1)
				note("second %s", kindOf(err))
				return err
			})
			_, all := orchestration.All(ctx, first, second)
			sem.Release(2)
			return errors.Join(err, all, sem.Acquire(ctx, 3))
		}, []string{"1h timeout", "1h second ok", "ok"}},
		"released by another coroutine": {func(ctx *octx, note func(string, ...any)) error {
			sem := orchestration.NewSemaphore(3)
			err := sem.Acquire(ctx, 3)
			other := ctx.Go(func(ctx *octx) error {
				sem.Release(1)
				err := sem.Acquire(ctx, 1)
				sem.Release(2) // its own and one of the other coroutine
				return err
			})
			_, otherErr := other.Get(ctx)
			err = errors.Join(err, otherErr, sem.Acquire(ctx, 2))
			note("all")
			return err
		}, []string{"0h all", "ok"}},
		"a dead holder of some": {func(ctx *octx, note func(string, ...any)) error {
			sem := orchestration.NewSemaphore(3)
			_, err := ctx.Go(func(ctx *octx) error { return sem.Acquire(ctx, 1) }).Get(ctx)
			note("%s", kindOf(err))
			return sem.Acquire(ctx, 1)
		}, []string{"0h ok", "invalid"}},
		"more or less than there is": {func(ctx *octx, note func(string, ...any)) error {
			sem := orchestration.NewSemaphore(3)
			note("%s %s", kindOf(sem.Acquire(ctx, 0)), kindOf(sem.Acquire(ctx, 4)))
			return sem.Acquire(ctx, 3)
		}, []string{"0h invalid invalid", "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.code.inEveryWay(t, c.want...)
		})
	}
}

func TestLocksRefuseMisuse(t *testing.T) {
	t.Parallel()
	for name, misuse := range map[string]func(ctx *octx) error{
		"unlock":        func(*octx) error { new(orchestration.Mutex).Unlock(); return nil },
		"unlock twice":  func(ctx *octx) error { var mu orchestration.Mutex; defer mu.Unlock(); return locked(ctx, &mu, 0) },
		"no unit":       func(*octx) error { orchestration.NewSemaphore(0); return nil },
		"zero":          func(ctx *octx) error { return new(orchestration.Semaphore).Acquire(ctx, 1) },
		"release":       func(*octx) error { orchestration.NewSemaphore(1).Release(1); return nil },
		"negative":      func(*octx) error { orchestration.NewSemaphore(1).Release(-1); return nil },
		"release twice": releaseTwice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script(func(ctx *octx, note func(string, ...any)) error {
				defer func() { note("%v", recover() != nil) }()
				return misuse(ctx)
			}).inKit(t, 0, "0h true", "ok")
		})
	}
}

func releaseTwice(ctx *octx) error {
	sem := orchestration.NewSemaphore(2)
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	sem.Release(1)
	sem.Release(1)
	return nil
}

// An instance is cancelled while one coroutine has the lock and others wait for it. Nobody holds it after that.
func TestHazard123_LocksOfACancelledInstance(t *testing.T) {
	t.Parallel()
	code := script(func(ctx *octx, note func(string, ...any)) error {
		var mu orchestration.Mutex
		g := orchestration.NewGroup(ctx)
		for i := range 3 {
			g.Go(func(ctx *octx) error {
				err := locked(ctx, &mu, time.Hour)
				note("%d %s", i, kindOf(err))
				return err
			})
		}
		err := g.Wait()
		note("free %s", kindOf(locked(ctx.Detached(), &mu, time.Hour)))
		return err
	})
	for after, want := range map[time.Duration][]string{
		30 * time.Minute:  {"0h 0 cancelled", "0h 1 cancelled", "0h 2 cancelled", "1h free ok", "cancelled"},
		90 * time.Minute:  {"1h 0 ok", "1h 1 cancelled", "1h 2 cancelled", "2h free ok", "cancelled"},
		150 * time.Minute: {"1h 0 ok", "2h 1 ok", "2h 2 cancelled", "3h free ok", "cancelled"},
		210 * time.Minute: {"1h 0 ok", "2h 1 ok", "3h 2 ok", "4h free ok", "ok"},
	} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			code.inKit(t, after, want...)
		})
	}
}
