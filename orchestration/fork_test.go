package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// twins waits for two children at once, and ends with the first error. It may cancel the other child itself.
func twins(ctx *octx, cancels bool) (int, error) {
	name := ctx.Info().Orchestration
	a := orchestration.StartOrchestrationNamed[int](ctx, "collect", none{}, orchestration.WithInstanceID(fmt.Sprint(name, cancels, "a")))
	b := orchestration.StartOrchestrationNamed[int](ctx, "collect", none{}, orchestration.WithInstanceID(fmt.Sprint(name, cancels, "b")))
	n, err := a.Get(ctx)
	if err != nil && cancels {
		b.Cancel()
		_, _ = b.Get(ctx)
	}
	if err != nil {
		return 0, err
	}
	m, err := b.Get(ctx)
	return n + m, err
}

// A fork that ends before it has learned that its children belong to the origin leaves them alone. Code of before level 7 gets messages one
// by one. So does code that gets very many.
func TestHazard57_ForksCancelNoChildrenOfTheirOrigin(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "twins", twins)
		enginetest.Orchestration(e.T, reg, "collect", collect)
		e.Start(reg)
		c := e.Client(client.Options{})
		for _, cancels := range []bool{false, true} {
			id := fmt.Sprint("twins", cancels)
			h := client.HandleOf[int](c, id, e.CreateOneByOne(id, "twins", cancels))
			a, b := child(e, id+"a"), child(e, id+"b")
			e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength == 3 })
			f, err := client.Fork(e.T.Context(), h, 4, id+"fork")
			if err != nil {
				e.T.Fatal(err)
			}
			if _, err := ended(e, f); !errors.Is(err, orchestration.ErrForked) {
				e.T.Errorf("the fork ended with %v, want ErrForked", err)
			}
			reset(e, f, 4) // to its ForkPoint
			if _, err := ended(e, f); !errors.Is(err, orchestration.ErrForked) {
				e.T.Errorf("the fork after a reset ended with %v, want ErrForked", err)
			}
			for _, k := range []client.Handle[int]{a, b} {
				e.Raise(k.Key(), "item", 1)
				e.Raise(k.Key(), "item", 0)
			}
			if n, err := ended(e, h); n != 2 || err != nil {
				e.T.Errorf("the origin: %d, %v", n, err)
			}
		}
	})
}

// A fork is no child, so it is its own topmost ancestor, and that of the children that it starts.
func TestHazard56_AForkIsItsOwnRoot(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "leaf", func(ctx *octx, _ none) (string, error) { return ctx.Info().RootID, nil })
		enginetest.Orchestration(e.T, reg, "low", func(ctx *octx, _ none) ([]string, error) {
			if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
				return nil, err
			}
			root, err := orchestration.CallOrchestrationNamed[string](ctx, "leaf", none{})
			return []string{ctx.Info().RootID, root, ctx.Info().ParentID}, err
		})
		enginetest.Orchestration(e.T, reg, "middle", func(ctx *octx, _ none) ([]string, error) {
			return orchestration.CallOrchestrationNamed[[]string](ctx, "low", none{}, orchestration.WithInstanceID("low"))
		})
		enginetest.Orchestration(e.T, reg, "top", func(ctx *octx, _ none) ([]string, error) {
			return orchestration.CallOrchestrationNamed[[]string](ctx, "middle", none{})
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		h := startOf[[]string](e, c, "top", "top", none{})
		low := client.HandleOf[[]string](c, "low", child(e, "low").Key())
		e.Until("it waits", func() bool { return e.Get(low.Key()).HistoryLength > 0 })
		f, err := client.Fork(e.T.Context(), low, 2, "fork")
		if err != nil {
			e.T.Fatal(err)
		}
		e.Raise(f.Key(), "go", 1)
		if got, err := ended(e, f); err != nil || fmt.Sprint(got) != "[fork fork ]" {
			e.T.Errorf("the fork: %q, %v", got, err)
		}
		e.Raise(low.Key(), "go", 1)
		if got, err := ended(e, h); err != nil || got[0] != "top" || got[1] != "top" {
			e.T.Errorf("the origin: %q, %v", got, err)
		}
	})
}

// Code that acts by the bytes of its history sees the same ones in a fork, up to the point. The origin may be a child.
func TestHazard56_AForkHasTheBytesOfItsOrigin(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "fills", func(ctx *octx, limit int64) (n int, err error) {
			for ; err == nil && ctx.Info().HistoryBytes < limit; n++ {
				err = ctx.Sleep(time.Microsecond)
			}
			ctx.SetStatus("full")
			if err == nil {
				_, err = orchestration.Events[int](ctx, "go").Receive(ctx)
			}
			return n, err
		})
		enginetest.Orchestration(e.T, reg, "above", func(ctx *octx, limit int64) (int, error) {
			return orchestration.CallOrchestrationNamed[int](ctx, "fills", limit, orchestration.WithInstanceID("below"))
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		above := startOf[int](e, c, "above", strings.Repeat("above", 40), 1000)
		for _, h := range []client.Handle[int]{startOf[int](e, c, "fills", "alone", 1000), child(e, "below")} {
			e.Until("it has filled its history", func() bool { // before the event, which is the point of the fork
				status, err := client.StatusOf[string](e.T.Context(), h)
				return err == nil && status == "full"
			})
			e.Raise(h.Key(), "go", 1)
			want, err := ended(e, h)
			if err != nil {
				e.T.Fatal(err)
			}
			f, err := client.Fork(e.T.Context(), h, pointOf(e, h, 1), "fork-"+h.ID(), client.Repeatable(strings.Repeat("r", 300)))
			if err != nil {
				e.T.Fatal(err)
			}
			e.Raise(f.Key(), "go", 1)
			if n, err := ended(e, f); n != want || err != nil {
				e.T.Errorf("%d, %v; want %d", n, err, want)
			}
		}
		if _, err := ended(e, above); err != nil {
			e.T.Error(err)
		}
	})
}

// Executions of before level 7, and those that wait for a local activity only, are reset at every message.
func TestResetOfOldAndLocalExecutions(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (sum int, err error) {
			for i := range 3 {
				n, err := orchestration.CallLocalNamed[int](ctx, "act", i)
				if err != nil {
					return 0, err
				}
				m, err := orchestration.Events[int](ctx, "next").Receive(ctx)
				if err != nil {
					return 0, err
				}
				sum += n + m
			}
			return sum, nil
		})
		enginetest.Activity(e.T, reg, "act", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		e.Start(reg)
		c := e.Client(client.Options{})
		for old, create := range map[string]func(id, name string, in any) provider.UUID{"old": e.CreateOneByOne, "new": e.Create} {
			for at := int64(1); ; at++ {
				id := fmt.Sprint(old, at)
				h := client.HandleOf[int](c, id, create(id, "main", none{}))
				for range 3 {
					e.Raise(h.Key(), "next", 10)
				}
				if got, err := ended(e, h); got != 36 || err != nil {
					e.T.Fatalf("%s: %d, %v", id, got, err)
				}
				all := events(e, h)
				if at > int64(len(all)) {
					break
				}
				if !all[at-1].Body.Kind().IsMessage() {
					continue
				}
				for range 2 {
					if l := e.Get(h.Key()).HistoryLength; at >= l {
						break
					}
					reset(e, h, at)
					if got, err := ended(e, h); got != 36 || err != nil {
						e.T.Fatalf("%s: %d, %v", id, got, err)
					}
				}
				enginetest.Replays(e, h)
			}
		}
	})
}

// More headers than fit into one commit are left out of the tasks of a reset, too. Without a bound, a reset with many long headers would
// be refused.
func TestHazard63_HeadersFitIntoAReset(t *testing.T) {
	t.Parallel()
	const calls = 400
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		var with enginetest.Notes[int]
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, _ none) (none, error) {
			info := activity.GetInfo(ctx)
			if info.Orchestration != "main" {
				e.T.Errorf("an attempt of orchestration %q", info.Orchestration)
			}
			with.Add(len(info.Header))
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			all := make([]orchestration.Future[none], calls)
			for i := range all {
				all[i] = orchestration.StartActivityNamed[none](ctx, "work", none{})
			}
			done, err := orchestration.All(ctx, all...)
			return len(done), err
		})
		rt := e.Start(reg)
		c := e.Client(client.Options{})
		h := startOf[int](e, c, "main", "main", none{}, client.WithHeader("long", strings.Repeat("x", header.MaxBytes-20)))
		if n, err := ended(e, h); n != calls || err != nil {
			e.T.Fatal(n, err)
		}
		at := int64(0)
		for _, event := range events(e, h) {
			if event.Body.Kind() == history.KindActivityCompleted {
				at = event.ID
				break
			}
		}
		before, left := len(with.All()), rt.Stats().HeadersLeftOut
		reset(e, h, at)
		if n, err := ended(e, h); n != calls || err != nil {
			e.T.Fatal(n, err)
		}
		headers := 0
		for _, n := range with.All()[before:] {
			headers += n
		}
		left = rt.Stats().HeadersLeftOut - left
		if headers+int(left) != calls || headers < 250 || left == 0 {
			e.T.Errorf("%d of %d tasks of the reset have the header, %d were left out", headers, calls, left)
		}
	})
}
