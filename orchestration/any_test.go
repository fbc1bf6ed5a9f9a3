package orchestration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Handlers of all names get what nobody else handles, also what came before them. A handler of a name that is made later takes over.
func TestHandlersOfAllNames(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "code", func(ctx *octx, _ none) ([]string, error) {
			var seen []string
			see := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
			orchestration.HandleEvent(ctx, "named", func(_ *octx, n int) error {
				see("named %d", n)
				return nil
			})
			box := orchestration.Events[int](ctx, "box")
			if n, err := box.Receive(ctx); n != 1 || err != nil {
				return nil, fmt.Errorf("the first event of the mailbox: %d, %w", n, err)
			}
			orchestration.HandleAnyEvent(ctx, func(ctx *octx, ev orchestration.Incoming) error {
				see("%s %s", ev.Name, ev.Input)
				return ctx.Sleep(time.Second)
			})
			orchestration.HandleAnyQuery(ctx, func(q orchestration.Incoming) (any, error) {
				if q.Name == "none" {
					return nil, errors.New("no such query")
				}
				return fmt.Sprintf("%s of %s", q.Name, q.Input), nil
			})
			running := 0
			orchestration.HandleAnyUpdate(ctx, func(ctx *octx, u orchestration.Incoming) (any, error) {
				if running++; running > 1 {
					return nil, errors.New("two run at once")
				}
				err := ctx.Sleep(time.Second)
				running--
				see("update %s %s", u.Name, u.Input)
				return u.Name, err
			}, orchestration.Serial(), orchestration.Validate(func(u orchestration.Incoming) error {
				if strings.HasPrefix(u.Name, "bad") {
					return errors.New("bad name")
				}
				return nil
			}))
			orchestration.HandleUpdate(ctx, "own", func(*octx, none) (string, error) { return "by its own", nil })
			if n, err := box.Receive(ctx); n != 2 || err != nil {
				return nil, fmt.Errorf("the second event of the mailbox: %d, %w", n, err)
			}
			orchestration.HandleEvent(ctx, "b", func(_ *octx, n int) error {
				see("b's own %d", n)
				return nil
			})
			_, err := box.Receive(ctx)
			return seen, err
		})
		e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[[]string](ctx, e.Client(client.Options{}), "code", nil)
		if err != nil {
			e.T.Fatal(err)
		}
		for _, ev := range []string{"a", "b", "named", "a"} {
			e.Raise(h.Key(), ev, 1)
		}
		e.Raise(h.Key(), "box", 1)
		enginetestWaits(e, h)
		var sent []client.UpdateHandle[string]
		for _, name := range []string{"x", "y"} {
			u, err := client.SendUpdate[string](ctx, h, name, 1)
			if err != nil {
				e.T.Fatal(err)
			}
			sent = append(sent, u)
		}
		for i, want := range []string{"x", "y"} {
			if got, err := sent[i].Wait(ctx); got != want || err != nil {
				e.T.Errorf("update %s returned %q, %v", want, got, err)
			}
		}
		if got, err := client.Update[string](ctx, h, "own", nil); got != "by its own" || err != nil {
			e.T.Errorf("%q, %v", got, err)
		}
		if _, err := client.Update[string](ctx, h, "bad one", nil); !errors.Is(err, client.ErrRejected) {
			e.T.Error(err)
		}
		if got, err := enginetest.Query[string](e, h, "left", 7); got != "left of 7" || err != nil {
			e.T.Errorf("%q, %v", got, err)
		}
		if _, err := enginetest.Query[string](e, h, "none", 7); !errors.Is(err, client.ErrQueryFailed) {
			e.T.Error(err)
		}
		e.Raise(h.Key(), "c", 2)
		e.Raise(h.Key(), "box", 2)
		enginetestWaits(e, h)
		e.Raise(h.Key(), "b", 3)
		e.Raise(h.Key(), "box", 3)
		seen, err := h.Wait(ctx)
		slices.Sort(seen)
		want := []string{"a 1", "a 1", "b 1", "b's own 3", "c 2", "named 1", "update x 1", "update y 1"}
		if !slices.Equal(seen, want) || err != nil {
			e.T.Errorf("%q, %v, want %q", seen, err, want)
		}
		enginetest.Replays(e, h)
	})
}

// enginetestWaits waits until the instance has taken all that was sent to it.
func enginetestWaits[T any](e *enginetest.Engine, h client.Handle[T]) {
	e.Until("the inbox is empty", func() bool { return e.Get(h.Key()).InboxMessages == 0 })
}

// A mailbox that is made later takes the events that wait behind 1,000 runs.
func TestMailboxTakesOverFromTheHandlerOfAllNames(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "code", func(ctx *octx, _ none) (int, error) {
			began := 0
			orchestration.HandleAnyEvent(ctx, func(ctx *octx, _ orchestration.Incoming) error {
				began++
				return ctx.Sleep(time.Hour)
			})
			if err := ctx.Await(func() bool { return began == 1_000 }); err != nil {
				return 0, err
			}
			if err := ctx.Sleep(time.Minute); err != nil {
				return 0, err
			}
			box, taken := orchestration.Events[int](ctx, "late"), 0
			for range 3 {
				if _, err := box.Receive(ctx); err != nil {
					return 0, err
				}
				taken++
			}
			if err := ctx.AwaitHandlers(); err != nil {
				return 0, err
			}
			return taken*10_000 + began, nil
		})
		e.Start(reg)
		key := e.Create("a", "code", nil)
		for i := range 1_001 {
			e.Raise(key, "early", i)
		}
		for i := range 3 {
			e.Raise(key, "late", i)
		}
		if got := enginetest.Output[int](e, key); got != 31_001 {
			e.T.Errorf("got %d", got)
		}
	})
}

func TestSecondHandlerOfAllNames(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]func(ctx *octx){
		"event": func(ctx *octx) {
			orchestration.HandleAnyEvent(ctx, func(*octx, orchestration.Incoming) error { return nil })
		},
		"query": func(ctx *octx) {
			orchestration.HandleAnyQuery(ctx, func(orchestration.Incoming) (any, error) { return nil, nil })
		},
		"update": func(ctx *octx) {
			orchestration.HandleAnyUpdate(ctx, func(*octx, orchestration.Incoming) (any, error) { return nil, nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				reg := runtime.NewRegistry()
				enginetest.Orchestration(e.T, reg, "code", func(ctx *octx, _ none) (none, error) {
					code(ctx)
					code(ctx)
					return none{}, nil
				})
				e.Start(reg)
				i := e.WaitBlocked(e.Create("a", "code", nil), 1)
				if i.Blocked == nil || !strings.Contains(i.Blocked.Message, "have two handlers") || i.Status == provider.StatusCompleted {
					e.T.Errorf("%+v", i.Blocked)
				}
				e.Unchecked("the instance is blocked")
			})
		})
	}
}

// A handler of a name that is registered behind that of all names gets the updates that have waited for it, in its own queue. Continue-as-new brings
// such updates: they are there before the code registers anything.
func TestNamedHandlerBehindThatOfAllNames(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, round int) (string, error) {
			orchestration.HandleAnyUpdate(ctx, func(ctx *octx, _ orchestration.Incoming) (any, error) {
				return "any", ctx.Sleep(time.Minute)
			}, orchestration.Serial())
			if round > 0 {
				orchestration.HandleUpdate(ctx, "a", func(ctx *octx, n int) (string, error) {
					return fmt.Sprint("named ", n), ctx.Sleep(time.Minute)
				}, orchestration.Serial())
			}
			if err := waitGo(ctx); err != nil || round > 0 {
				return "", err
			}
			return "", orchestration.ContinueAsNew(ctx, 1)
		})
		e.Start(reg)
		key := e.Create("one", "main", 0)
		e.Until("it waits", func() bool { return e.Get(key).HistoryLength > 0 })
		h := client.HandleOf[string](e.Client(client.Options{}), "one", key)
		var sent []client.UpdateHandle[string]
		for i := range 4 {
			u, err := client.SendUpdate[string](e.T.Context(), h, "a", i)
			if err != nil {
				e.T.Fatal(err)
			}
			sent = append(sent, u)
		}
		e.Raise(key, "go", 1)
		for i, u := range sent {
			want := fmt.Sprint("named ", i)
			if i == 0 {
				want = "any"
			}
			if got, err := u.Wait(e.T.Context()); got != want || i > 0 && err != nil {
				e.T.Errorf("update %d: %q, %v", i, got, err)
			}
		}
		e.Raise(key, "go", 1)
		e.WaitEnded(key)
	})
}
