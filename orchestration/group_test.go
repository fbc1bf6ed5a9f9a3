package orchestration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// later returns a function of a group that fails after some time.
func later(d time.Duration, text string) func(*octx) error {
	return func(ctx *octx) error {
		if err := ctx.Sleep(d); err != nil {
			return err
		}
		return errors.New(text)
	}
}

// The first error cancels the scope, and Wait waits for all coroutines, also for those that clean up.
func TestHazard123_GroupWaitsForAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code script
		want []string
	}{
		"one fails": {func(ctx *octx, note func(string, ...any)) error {
			g := orchestration.NewGroup(ctx)
			g.Go(func(ctx *octx) error {
				err := ctx.Sleep(10 * time.Hour)
				note("first: %s", kindOf(err))
				cleaned := ctx.Detached().Sleep(2 * time.Hour)
				note("first has cleaned up")
				return errors.Join(err, cleaned)
			})
			g.Go(later(time.Hour, "second"))
			err := g.Wait()
			note("waited")
			return err
		}, []string{"1h first: cancelled", "3h first has cleaned up", "3h waited", "second"}},
		"a Go of another coroutine waits for the limit": {func(ctx *octx, note func(string, ...any)) error {
			g := orchestration.NewGroup(ctx)
			g.SetLimit(1)
			g.Go(func(ctx *octx) error { return ctx.Sleep(time.Hour) })
			ctx.Go(func(*octx) error {
				g.Go(func(ctx *octx) error {
					err := ctx.Sleep(time.Hour)
					note("second: %s", kindOf(err))
					return err
				})
				return nil
			})
			err := g.Wait()
			note("waited")
			return err
		}, []string{"2h second: ok", "2h waited", "ok"}},
		"the scope around it ends": {func(ctx *octx, note func(string, ...any)) error {
			scope, cancel := ctx.WithTimeout(time.Hour)
			defer cancel()
			g := orchestration.NewGroup(scope)
			g.Go(func(ctx *octx) error {
				err := ctx.Sleep(10 * time.Hour)
				return errors.Join(err, ctx.Detached().Sleep(2*time.Hour))
			})
			err := g.Wait()
			note("waited")
			return err
		}, []string{"3h waited", "timeout"}},
		"all succeed": {func(ctx *octx, note func(string, ...any)) error {
			g := orchestration.NewGroup(ctx)
			for range 3 {
				g.Go(func(ctx *octx) error { return ctx.Sleep(time.Hour) })
			}
			err := g.Wait()
			note("waited")
			return errors.Join(err, g.Wait(), ctx.Sleep(time.Hour), orchestration.NewGroup(ctx).Wait())
		}, []string{"1h waited", "ok"}},
		"one begins another meanwhile": {func(ctx *octx, note func(string, ...any)) error {
			g := orchestration.NewGroup(ctx)
			g.Go(func(ctx *octx) error {
				g.Go(func(ctx *octx) error { return ctx.Sleep(2 * time.Hour) })
				return ctx.Sleep(time.Hour)
			})
			err := g.Wait()
			note("waited")
			return err
		}, []string{"2h waited", "ok"}},
		"two wait": {func(ctx *octx, note func(string, ...any)) error {
			g := orchestration.NewGroup(ctx)
			g.Go(func(ctx *octx) error { return ctx.Sleep(time.Hour) })
			g.Go(func(ctx *octx) error { return ctx.Sleep(2 * time.Hour) })
			other := ctx.Go(func(*octx) error {
				err := g.Wait()
				note("waited")
				return err
			})
			err := g.Wait()
			note("waited")
			_, otherErr := other.Get(ctx)
			return errors.Join(err, otherErr)
		}, []string{"2h waited", "2h waited", "ok"}},
		"one leaves a timer open": {func(ctx *octx, note func(string, ...any)) error {
			var left orchestration.Future[none]
			g := orchestration.NewGroup(ctx)
			g.Go(func(ctx *octx) error {
				left = orchestration.StartTimer(ctx, 10*time.Hour)
				return nil
			})
			err := g.Wait()
			_, leftErr := left.Get(ctx)
			note("left: %s", kindOf(leftErr))
			return err
		}, []string{"0h left: cancelled", "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.code.inEveryWay(t, c.want...)
		})
	}
}

// Of the functions that one message has failed, the one that was started first counts, and a cancellation does not.
func TestHazard123_GroupReturnsTheFirstError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code script
		want string
	}{
		"one message, another order": {func(ctx *octx, _ func(string, ...any)) error {
			timer := orchestration.StartTimer(ctx, 2*time.Hour)
			g := orchestration.NewGroup(ctx)
			for i := range 2 {
				g.Go(func(ctx *octx) error {
					if err := ctx.Sleep(time.Duration(1-i) * time.Hour); err != nil { // the second one waits first
						return err
					}
					_, err := timer.Get(ctx)
					return errors.Join(err, fmt.Errorf("of %d", i))
				})
			}
			return g.Wait()
		}, "of 0"},
		"one message, and a cancellation": {func(ctx *octx, _ func(string, ...any)) error {
			timer := orchestration.StartTimer(ctx, time.Hour)
			g := orchestration.NewGroup(ctx)
			g.Go(func(ctx *octx) error { return ctx.Sleep(10 * time.Hour) })
			g.Go(func(ctx *octx) error {
				_, err := timer.Get(ctx)
				if err == nil {
					err = orchestration.ErrCancelled // of something else
				}
				return err
			})
			g.Go(func(ctx *octx) error {
				_, err := timer.Get(ctx)
				return errors.Join(err, errors.New("own"))
			})
			return g.Wait()
		}, "own"},
		"a later error": {func(ctx *octx, _ func(string, ...any)) error {
			g := orchestration.NewGroup(ctx)
			g.Go(func(ctx *octx) error {
				_ = ctx.Sleep(10 * time.Hour)
				return errors.Join(ctx.Detached().Sleep(time.Hour), errors.New("later"))
			})
			g.Go(later(time.Hour, "first"))
			return g.Wait()
		}, "first"},
		"a later error than the cancellation": {func(ctx *octx, _ func(string, ...any)) error {
			scope, cancel := ctx.WithCancel()
			g := orchestration.NewGroup(scope)
			g.Go(func(ctx *octx) error { return ctx.Sleep(10 * time.Hour) })
			g.Go(func(ctx *octx) error {
				_ = ctx.Sleep(10 * time.Hour)
				return errors.Join(ctx.Detached().Sleep(time.Hour), errors.New("later"))
			})
			cancel()
			return g.Wait()
		}, "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.code.inEveryWay(t, c.want)
		})
	}
}

// Two messages come in one turn. The function whose message came first has failed first, although the other one runs first.
func TestHazard123_GroupGoesByTheMessage(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			g := orchestration.NewGroup(ctx)
			for _, name := range []string{"a", "b"} {
				g.Go(func(ctx *octx) error {
					_, err := orchestration.Events[none](ctx, name).Receive(ctx)
					return errors.Join(err, errors.New(name))
				})
			}
			return g.Wait().Error(), nil
		})
		e.Start(reg)
		h, err := client.StartNamed[string](e.T.Context(), e.Client(client.Options{}), "main", none{},
			client.WithEvent("b", none{}), client.WithEvent("a", none{}))
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(e.T.Context()); got != "b" || err != nil {
			e.T.Errorf("the first error is %q, %v", got, err)
		}
		enginetest.Replays(e, h)
	})
}

// A function whose wait for a condition ends acts on the message that ended it.
func TestHazard123_GroupGoesByTheMessageOfACondition(t *testing.T) {
	t.Parallel()
	script(func(ctx *octx, note func(string, ...any)) error {
		g := orchestration.NewGroup(ctx)
		g.Go(func(ctx *octx) error { return errors.Join(ctx.Sleep(time.Hour), errors.New("b")) })
		g.Go(func(ctx *octx) error {
			err := ctx.Await(func() bool { return false })
			note("a: %s", kindOf(err))
			return errors.New("it was cancelled with the other one") // no ErrCancelled
		})
		note("%v", g.Wait())
		return nil
	}).inEveryWay(t, "1h a: cancelled", "1h b", "ok")
}

func TestGroupLimit(t *testing.T) {
	t.Parallel()
	script(func(ctx *octx, note func(string, ...any)) error {
		running, most := 0, 0
		g := orchestration.NewGroup(ctx)
		g.SetLimit(2)
		for i := range 5 {
			g.Go(func(ctx *octx) error {
				running++
				most = max(most, running)
				err := ctx.Sleep(time.Hour)
				running--
				return err
			})
			note("begun %d", i)
		}
		err := g.Wait()
		note("at most %d", most)
		return err
	}).inEveryWay(t, "0h begun 0", "0h begun 1", "1h begun 2", "1h begun 3", "2h begun 4", "3h at most 2", "ok")
}

// An instance is cancelled while Go waits, while Wait waits, and after that.
func TestHazard123_GroupOfACancelledInstance(t *testing.T) {
	t.Parallel()
	code := script(func(ctx *octx, note func(string, ...any)) error {
		g := orchestration.NewGroup(ctx)
		g.SetLimit(2)
		for i := 1; i <= 3; i++ {
			g.Go(func(ctx *octx) error {
				err := ctx.Sleep(time.Hour)
				if err != nil {
					note("%d cleans up", i)
					err = errors.Join(err, ctx.Detached().Sleep(time.Duration(i)*time.Hour))
				}
				note("%d %s", i, kindOf(err))
				return err
			})
		}
		err := g.Wait()
		note("waited")
		if err == nil {
			err = ctx.Sleep(time.Hour)
		}
		return err
	})
	for after, want := range map[time.Duration][]string{
		30 * time.Minute: {
			"0h 1 cleans up", "0h 2 cleans up", "1h 1 cancelled", "1h 3 cleans up", "2h 2 cancelled", "4h 3 cancelled", "4h waited", "cancelled",
		},
		90 * time.Minute:  {"1h 1 ok", "1h 2 ok", "1h 3 cleans up", "4h 3 cancelled", "4h waited", "cancelled"},
		150 * time.Minute: {"1h 1 ok", "1h 2 ok", "2h 3 ok", "2h waited", "cancelled"},
		0:                 {"1h 1 ok", "1h 2 ok", "2h 3 ok", "2h waited", "ok"},
	} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			code.inKit(t, after, want...)
		})
	}
}

func TestGroupRefusesMisuse(t *testing.T) {
	t.Parallel()
	for name, misuse := range map[string]func(*octx){
		"after Wait": func(ctx *octx) {
			g := orchestration.NewGroup(ctx)
			if g.Wait() == nil {
				g.Go(func(*octx) error { return nil })
			}
		},
		"limit":      func(ctx *octx) { orchestration.NewGroup(ctx).SetLimit(0) },
		"function":   func(ctx *octx) { orchestration.NewGroup(ctx).Go(nil) },
		"zero group": func(*octx) { _ = new(orchestration.Group).Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script(func(ctx *octx, note func(string, ...any)) error {
				defer func() { note("%v", recover() != nil) }()
				misuse(ctx)
				return nil
			}).inKit(t, 0, "0h true", "ok")
		})
	}
}
