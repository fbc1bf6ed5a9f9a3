package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// handled waits until an execution has begun and its history has so many events of a kind.
func handled(e *enginetest.Engine, key provider.UUID, kind history.Kind, n int) {
	e.T.Helper()
	e.Until(fmt.Sprintf("the history has %d of %v", n, kind), func() bool {
		got := 0
		for _, event := range e.History(key, 1) {
			if event.Body.Kind() == kind {
				got++
			}
		}
		return got >= n
	})
}

// Events run handlers next to the main function. They share its variables and may wait.
func TestHandleEvent(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			var seen []string
			orchestration.HandleEvent(ctx, "add", func(ctx *octx, word string) error {
				seen = append(seen, word)
				if err := ctx.Sleep(time.Millisecond); err != nil {
					return err
				}
				seen = append(seen, "-"+word)
				return nil
			})
			_, err := orchestration.Events[none](ctx, "stop").Receive(ctx)
			slices.Sort(seen)
			return strings.Join(seen, " "), err
		})
		key := e.Create("main", "main", none{})
		e.Raise(key, "add", "a")
		e.Start(reg)
		e.Raise(key, "add", "b")
		handled(e, key, history.KindTimerFired, 2)
		e.Raise(key, "stop", none{})
		if got := enginetest.Output[string](e, key); got != "-a -b a b" {
			e.T.Errorf("got %q", got)
		}
	})
}

// The instance ends when the handlers have returned, with the outcome of its function.
func TestHazard52_HandlersOutliveTheFunction(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		late := 0
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, fail bool) (string, error) {
			orchestration.HandleEvent(ctx, "add", func(ctx *octx, _ none) error {
				err := ctx.Sleep(50 * time.Millisecond)
				return errors.Join(err, ctx.Sleep(time.Millisecond))
			})
			ctx.Go(func(ctx *octx) error {
				err := ctx.Sleep(10 * time.Millisecond)
				late++
				return err
			})
			if _, err := orchestration.Events[none](ctx, "stop").Receive(ctx); err != nil {
				return "", err
			}
			if fail {
				return "", errors.New("main failed")
			}
			return "done", nil
		})
		keys := make(map[bool]provider.UUID)
		for _, fail := range []bool{false, true} {
			keys[fail] = e.Create(fmt.Sprint(fail), "main", fail)
			e.Raise(keys[fail], "add", none{})
			e.Raise(keys[fail], "stop", none{})
		}
		e.Start(reg)
		for fail, key := range keys {
			out, err := enginetest.Result[string](e, key, nil)
			if fail && (err == nil || !strings.Contains(err.Error(), "main failed")) || !fail && (out != "done" || err != nil) {
				e.T.Errorf("fails %v: %q, %v", fail, out, err)
			}
			events := e.History(key, 1)
			if got := kinds(events); !strings.Contains(got, "EventReceived TimerCreated TimerCreated MainReturned TimerCancelled TimerCreated TimerFired TimerCreated TimerFired Execution") {
				e.T.Errorf("fails %v: history %s", fail, got)
			}
			if level := e.Get(key).EngineLevel; level != replay.LevelOfLanguage {
				e.T.Errorf("level %d", level)
			}
		}
		if late != 0 {
			e.T.Errorf("a coroutine of the function continued %d times", late)
		}
	})
}

// An event that comes while handlers finish is read once by the execution that continues.
func TestHazard52_EventsOfTheClosingAreCarried(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) ([]int, error) {
			var seen []int
			orchestration.HandleEvent(ctx, "add", func(ctx *octx, v int) error {
				seen = append(seen, v)
				if n == 0 {
					return ctx.Sleep(time.Minute)
				}
				return nil
			})
			if _, err := orchestration.Events[none](ctx, "stop").Receive(ctx); err != nil {
				return nil, err
			}
			if n == 0 {
				return nil, orchestration.ContinueAsNew(ctx, 1)
			}
			return seen, nil
		})
		key := e.Create("main", "main", 0)
		e.Raise(key, "add", 0)
		e.Raise(key, "stop", none{})
		e.Start(reg)
		handled(e, key, history.KindMainReturned, 1)
		for n := range 3 {
			e.Raise(key, "add", n+1)
		}
		handled(e, key, history.KindEventReceived, 5)
		e.Until("it continues", func() bool { return e.Get(key).Execution == 2 })
		e.Raise(key, "stop", none{})
		if got := enginetest.Output[[]int](e, key); !slices.Equal(got, []int{1, 2, 3}) {
			e.T.Errorf("the next execution took %v", got)
		}
	})
}

// The closing is a phase that everybody sees. Events of it are kept and told.
func TestHazard53_TheClosingIsVisible(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			orchestration.HandleEvent(ctx, "ship", func(ctx *octx, _ none) error {
				_, err := orchestration.CallActivityNamed[none](ctx, "elsewhere", none{}, orchestration.WithQueue("later"))
				return err
			})
			_, err := orchestration.Events[none](ctx, "stop").Receive(ctx)
			return none{}, err
		})
		rt := e.Start(reg)
		c := e.Client(client.Options{})
		h, err := client.StartNamed[none](e.T.Context(), c, "main", none{}, client.WithEvent("ship", none{}), client.WithEvent("ship", none{}),
			client.WithEvent("stop", none{}))
		if err != nil {
			e.T.Fatal(err)
		}
		handled(e, h.Key(), history.KindMainReturned, 1)
		d, err := h.Describe(e.T.Context())
		if err != nil || d.Closing == nil || d.Closing.Since.IsZero() || len(d.Keys) != 0 ||
			!slices.Equal(d.Closing.Handlers, []client.RunningHandler{{Kind: "event", Name: "ship", Count: 2}}) {
			e.T.Errorf("closing %+v, keys %v: %v", d.Closing, d.Keys, err)
		}
		for range 2 {
			if err := h.Raise(e.T.Context(), "ship", none{}); err != nil {
				e.T.Error(err)
			}
		}
		worker := runtime.NewRegistry() // its node ends the closing
		enginetest.Activity(e.T, worker, "elsewhere", func(context.Context, none) (none, error) {
			return none{}, orchestration.NonRetryable(errors.New("not shipped"))
		}, runtime.OnQueue("later"))
		e.Start(worker)
		if _, err := h.Wait(e.T.Context()); err != nil {
			e.T.Error(err)
		}
		d, err = h.Describe(e.T.Context())
		if err != nil || d.Closing != nil || d.Unread["ship"] != 2 || len(d.Unread) != 1 || len(d.Keys) != 0 {
			e.T.Errorf("closing %+v, unread %v, keys %v: %v", d.Closing, d.Unread, d.Keys, err)
		}
		if e.Virtual {
			e.Until("the commit is counted", func() bool {
				s := rt.Stats()
				return s.EventsUnread == 2 && s.EventHandlersFailed == 2
			})
		}
	})
}

// After the grace handlers are cancelled. Those that do not obey are abandoned a minute later.
func TestHazard53_HandlersEndWithTheGrace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grace time.Duration
		obey  bool
		want  time.Duration
	}{
		"default, obeys": {0, true, 10 * time.Minute},
		"default, stays": {0, false, 11 * time.Minute},
		"own, obeys":     {time.Hour, true, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
					if c.grace > 0 {
						ctx.SetHandlerGrace(c.grace)
					}
					orchestration.HandleEvent(ctx, "add", func(ctx *octx, _ none) error {
						if !c.obey {
							ctx = ctx.Detached()
						}
						return ctx.Sleep(48 * time.Hour)
					})
					_, err := orchestration.Events[none](ctx, "stop").Receive(ctx)
					return none{}, err
				})
				key := e.Create("main", "main", none{})
				e.Raise(key, "add", none{})
				e.Raise(key, "stop", none{})
				e.Start(reg)
				i := e.WaitEnded(key)
				if took := i.EndedAt.Sub(i.CreatedAt); i.Status != provider.StatusCompleted || took < c.want || took > c.want+30*time.Second {
					e.T.Errorf("%v after %v, want %v", i.Status, took, c.want)
				}
			})
		})
	}
}

// Handlers that wait for what only the function could bring about end with it. So do those that may be abandoned.
func TestHazard53_NobodyWaitsForHandlersThatCannotGoOn(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]orchestration.HandlerOption{"stuck": nil, "abandoned": {orchestration.AbandonAtEnd()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
					never := ctx.Go(func(ctx *octx) error {
						_, err := orchestration.Events[none](ctx, "never").Receive(ctx)
						return err
					})
					orchestration.HandleEvent(ctx, "add", func(ctx *octx, _ none) error {
						if opts != nil {
							return ctx.Sleep(48 * time.Hour)
						}
						_, err := never.Get(ctx)
						return err
					}, opts...)
					_, err := orchestration.Events[none](ctx, "stop").Receive(ctx)
					return none{}, err
				})
				key := e.Create("main", "main", none{})
				e.Raise(key, "add", none{})
				e.Raise(key, "stop", none{})
				e.Start(reg)
				if i := e.WaitEnded(key); i.EndedAt.Sub(i.CreatedAt) > 30*time.Second {
					e.T.Errorf("it took %v", i.EndedAt.Sub(i.CreatedAt))
				}
				if got := strings.Contains(kinds(e.History(key, 1)), "MainReturned"); got != (opts == nil) {
					e.T.Errorf("the end of the function is recorded: %v", got)
				}
			})
		})
	}
}

// A payload that does not decode, and an error, are logged and counted. The instance goes on.
func TestHazard54_ABadEventBlocksNothing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			sum := 0
			orchestration.HandleEvent(ctx, "add", func(_ *octx, n int) error {
				if n < 0 {
					return errors.New("negative")
				}
				sum += n
				return nil
			})
			_, err := orchestration.Events[none](ctx, "stop").Receive(ctx)
			return sum, err
		})
		rt := e.Start(reg)
		key := e.Create("main", "main", none{})
		for _, v := range []any{1, "no number", -1, 2} {
			e.Raise(key, "add", v)
		}
		e.Raise(key, "stop", none{})
		if got := enginetest.Output[int](e, key); got != 3 {
			e.T.Errorf("got %d", got)
		}
		if s := rt.Stats(); s.EventHandlersFailed != 2 || s.TurnsFailed != 0 {
			e.T.Errorf("%d handlers failed, %d turns failed", s.EventHandlersFailed, s.TurnsFailed)
		}
	})
}

// A panic of a handler blocks the instance with the event named. It is not lost.
func TestAPanicOfAHandlerKeepsItsEvent(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		broken := true
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			sum := 0
			orchestration.HandleEvent(ctx, "add", func(_ *octx, n int) error {
				if broken {
					panic("a mistake")
				}
				sum += n
				return nil
			})
			_, err := orchestration.Events[none](ctx, "stop").Receive(ctx)
			return sum, err
		})
		rt := e.Start(reg)
		key := e.Create("main", "main", none{})
		e.Until("it began", func() bool { return e.Get(key).HistoryLength > 0 })
		e.Raise(key, "add", 3) // alone: a turn of several messages does not know at which of them the code panicked
		i := e.WaitBlocked(key, 2)
		if i.Blocked.Reason != "panic" || !strings.Contains(i.Blocked.Message, "EventReceived") || !strings.Contains(i.Blocked.Message, "a mistake") {
			e.T.Errorf("blocked %+v", i.Blocked)
		}
		e.Stop(rt)
		broken = false
		e.Raise(key, "stop", none{})
		e.Start(reg)
		if got := enginetest.Output[int](e, key); got != 3 {
			e.T.Errorf("got %d", got)
		}
	})
}

// Bad arguments fail the turn with what and how to mend it.
func TestHandleEventRefusesBadInput(t *testing.T) {
	t.Parallel()
	handle := func(ctx *octx, name string) {
		orchestration.HandleEvent(ctx, name, func(*octx, int) error { return nil })
	}
	for want, code := range map[string]func(ctx *octx){
		"event name":    func(ctx *octx) { handle(ctx, "") },
		"two handlers":  func(ctx *octx) { handle(ctx, "a"); handle(ctx, "a") },
		"as a mailbox":  func(ctx *octx) { orchestration.Events[int](ctx, "a"); handle(ctx, "a") },
		"not both":      func(ctx *octx) { handle(ctx, "a"); orchestration.Events[int](ctx, "a") },
		"handler grace": func(ctx *octx) { ctx.SetHandlerGrace(0) },
		"chan":          func(ctx *octx) { orchestration.HandleEvent(ctx, "a", func(*octx, chan int) error { return nil }) },
		"nil":           func(ctx *octx) { orchestration.HandleEvent[int](ctx, "a", nil) },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
					code(ctx)
					return none{}, nil
				})
				e.Start(reg)
				i := e.WaitBlocked(e.Create("main", "main", none{}), 1)
				if !strings.Contains(i.Blocked.Message, want) {
					e.T.Errorf("blocked: %s", i.Blocked.Message)
				}
			})
		})
	}
}

// Coroutines that wait for each other show as a deadlock. Mended code continues.
func TestHazard53_ADeadlockIsVisible(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		broken := true
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			if err := ctx.Sleep(time.Second); err != nil {
				return 0, err
			}
			var f orchestration.Future[none]
			f = ctx.Go(func(ctx *octx) error {
				if !broken {
					return nil
				}
				_, err := f.Get(ctx)
				return err
			})
			_, err := f.Get(ctx)
			return 3, err
		})
		rt := e.Start(reg)
		key := e.Create("main", "main", none{})
		i := e.WaitBlocked(key, 1)
		if i.Blocked.Reason != "deadlock" || !strings.Contains(i.Blocked.Message, "wait for each other") {
			e.T.Errorf("blocked %+v", i.Blocked)
		}
		e.Stop(rt)
		broken = false
		e.Start(reg)
		if got := enginetest.Output[int](e, key); got != 3 {
			e.T.Errorf("got %d", got)
		}
	})
}
