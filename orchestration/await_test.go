package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// pot is what several executions collect.
type pot struct {
	Round int
	Coins int
}

// fillPot waits three times for a condition: in an update, for a goal that events and updates reach, and for the last coin, which has a limit.
func fillPot(ctx *octx, p pot) (pot, error) {
	more := func(_ *octx, n int) error { p.Coins += n; return nil }
	orchestration.HandleEvent(ctx, "put", more)
	orchestration.HandleUpdate(ctx, "pay", func(ctx *octx, n int) (int, error) {
		if err := more(ctx, n); err != nil {
			return 0, err
		}
		round := p.Round
		err := ctx.Await(func() bool { return p.Coins >= 10*(round+1) }, orchestration.Within(time.Hour))
		return p.Coins, err
	})
	orchestration.HandleQuery(ctx, "coins", func(none) (int, error) { return p.Coins, nil })
	err := ctx.Await(func() bool { return p.Coins >= 10*(p.Round+1) }, orchestration.Within(24*time.Hour))
	switch {
	case errors.Is(err, orchestration.ErrTimeout):
		return p, nil
	case err != nil:
		return p, err
	}
	return p, orchestration.ContinueAsNewAfterHandlers(ctx, func() pot { return pot{p.Round + 1, p.Coins} })
}

// Events and updates change what a condition reads, over several executions. Handlers wait for conditions, too.
func TestAwait(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "fill", fillPot)
		e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[pot](ctx, e.Client(client.Options{}), "fill", pot{})
		if err != nil {
			e.T.Fatal(err)
		}
		var waiting []client.UpdateHandle[int]
		for round := range 2 {
			for range 3 {
				u, err := client.SendUpdate[int](ctx, h, "pay", 2)
				if err != nil {
					e.T.Fatal(err)
				}
				if _, err := u.Wait(ctx, client.UntilAccepted()); err != nil {
					e.T.Fatal(err)
				}
				waiting = append(waiting, u)
			}
			if got, err := enginetest.Query[int](e, h, "coins", none{}); got != 10*round+6 || err != nil {
				e.T.Errorf("round %d: %d coins, %v", round, got, err)
			}
			e.Raise(h.Key(), "put", 4)
			for i, u := range waiting {
				if got, err := u.Wait(ctx); got != 10*(round+1) || err != nil {
					e.T.Errorf("round %d, update %d: %d coins, %v", round, i, got, err)
				}
			}
			waiting = nil
		}
		got, err := h.Wait(ctx)
		if want := (pot{2, 20}); got != want || err != nil {
			e.T.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		for execution, want := range []string{"", "UpdateReceived UpdateAccepted TimerCreated", "TimerCreated TimerFired ExecutionCompleted"} {
			if got := kinds(e.History(h.Key(), int64(execution)+1)); !strings.Contains(got, want) {
				e.T.Errorf("execution %d: history %s", execution+1, got)
			}
		}
		enginetest.Replays(e, h)
	})
}

// An instance goes on alike where it is cached and where each turn rebuilds it, also when its turns go from one node to the other.
func TestAwaitOnTwoNodes(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			var trace []string
			free, open := 0, orchestration.NewPromise[int](ctx)
			orchestration.HandleEvent(ctx, "free", func(_ *octx, n int) error {
				if free += n; n == 4 {
					return open.Set(n)
				}
				return nil
			})
			var guests []orchestration.Future[none]
			for i := range 4 {
				guests = append(guests, ctx.Go(func(ctx *octx) error {
					if err := ctx.Await(func() bool { return free > i%2 }, orchestration.Within(time.Duration(10+i)*time.Hour)); err != nil {
						return err
					}
					free -= 1 + i%2
					trace = append(trace, fmt.Sprint(i))
					return nil
				}))
			}
			if _, err := orchestration.All(ctx, guests...); err != nil {
				return "", err
			}
			last, err := open.Future().Get(ctx)
			return fmt.Sprint(trace, free, last), err
		})
		cached := e.Start(reg)
		key := e.Create("main", "main", none{})
		uncached := runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}
		for i, n := range []int{1, 1, 1, 1, 4} {
			e.Raise(key, "free", n)
			handled(e, key, history.KindEventReceived, i+1)
			switch i {
			case 0:
				e.StartOn(e.Store, reg, uncached) // beside the other
			case 2:
				e.Stop(cached)
			case 3:
				e.Start(reg)
			}
		}
		if got := enginetest.Output[string](e, key); got != "[0 2 1 3] 2 4" {
			e.T.Errorf("got %q", got)
		}
	})
}

// A promise that loses a race is still set, and its other readers get it.
func TestRaceLeavesPromises(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]int, error) {
			first, second := orchestration.NewPromise[int](ctx), orchestration.NewPromise[int](ctx)
			orchestration.HandleEvent(ctx, "first", func(_ *octx, n int) error { return first.Set(n) })
			orchestration.HandleEvent(ctx, "second", func(_ *octx, n int) error { return second.Set(n) })
			var got []int
			reader := ctx.Go(func(ctx *octx) error {
				n, err := first.Future().Get(ctx)
				got = append(got, n)
				return err
			})
			n, winner, err := orchestration.Race(ctx, first.Future(), second.Future())
			if err != nil {
				return nil, err
			}
			got = append(got, n, winner)
			if which, err := orchestration.Select(ctx, orchestration.StartTimer(ctx, time.Hour), first); which != 1 || err != nil {
				return nil, fmt.Errorf("case %d, %w", which, err)
			}
			_, err = reader.Get(ctx)
			return got, err
		}, none{})
		for i, name := range []string{"", "second", "first"} {
			if name != "" {
				e.Raise(key, name, 3-i)
			}
			handled(e, key, history.KindExecutionStarted, 1)
			handled(e, key, history.KindEventReceived, i)
		}
		if got := fmt.Sprint(enginetest.Output[[]int](e, key)); got != "[2 1 1]" {
			e.T.Errorf("got %s", got)
		}
	})
}

var errDeclined = errors.New("declined")

// A promise is set once, with a value or an error. Each reader gets a value of its own, and the very error.
func TestPromise(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (string, error) {
			list, bad, free := orchestration.NewPromise[[]int](ctx), orchestration.NewPromise[none](ctx), orchestration.NewPromise[any](ctx)
			set := ctx.Go(func(*octx) error {
				return errors.Join(list.Set([]int{1, 2}), bad.Fail(errDeclined))
			})
			for range 2 {
				got, err := list.Future().Get(ctx)
				if err != nil || fmt.Sprint(got) != "[1 2]" {
					return "", fmt.Errorf("got %v, %w", got, err)
				}
				got[0] = 7
				if _, err := bad.Future().Get(ctx); err != errDeclined { //nolint:errorlint // the very error
					return "", fmt.Errorf("the error is %w", err)
				}
			}
			for what, err := range map[string]error{"Set": list.Set(nil), "Fail": list.Fail(errDeclined), "Set of a failed one": bad.Set(none{}), "Fail(nil)": free.Fail(nil)} {
				if !errors.Is(err, orchestration.ErrInvalid) {
					return "", fmt.Errorf("%s: %w", what, err)
				}
			}
			if err := free.Set(func() {}); !errors.Is(err, orchestration.ErrPayload) || free.Future().Ready() {
				return "", fmt.Errorf("a function: %w", err)
			}
			if err := free.Set("text"); err != nil || !free.Future().Ready() {
				return "", fmt.Errorf("a text: %w", err)
			}
			_, err := set.Get(ctx)
			return "done", err
		}, none{})
		if got := enginetest.Output[string](e, key); got != "done" {
			e.T.Errorf("got %q", got)
		}
		if got := kinds(e.History(key, 1)); got != "ExecutionStarted ExecutionCompleted" {
			e.T.Errorf("history %s", got)
		}
	})
}
