package orchestration_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// An activity updates the instance that has called it, by the ID that it learns, and the code sees that at once.
func TestActivityUpdatesItsInstance(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := e.Client(client.Options{})
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "report", func(ctx context.Context, n int) (int, error) {
			h, err := client.Lookup[int](ctx, c, activity.GetInfo(ctx).InstanceID)
			if err != nil {
				return 0, err
			}
			return client.Update[int](ctx, h, "add", n)
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			total := 0
			orchestration.HandleUpdate(ctx, "add", func(_ *octx, n int) (int, error) {
				total += n
				return total, nil
			})
			for i, want := range []int{20, 42} {
				got, err := orchestration.CallActivityNamed[int](ctx, "report", 20+2*i)
				if err != nil || got != want || total != want {
					return total, errors.Join(err, errors.New("the update is not seen"))
				}
			}
			return total, nil
		})
		e.Start(reg)
		h, err := client.StartNamed[int](e.T.Context(), c, "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(e.T.Context()); got != 42 || err != nil {
			e.T.Errorf("it ended with %d, %v", got, err)
		}
		enginetest.Replays(e, h)
	})
}

// A validator runs once for each update, when that comes. A replay takes the verdict from the history.
func TestReplayRunsNoValidator(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		var validated atomic.Int64
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			n := 0
			orchestration.HandleUpdate(ctx, "add", func(*octx, int) (int, error) {
				n++
				return n, nil
			}, orchestration.Validate(func(int) error {
				if validated.Add(1) > 3 {
					return errFull // would change the verdict of a replay
				}
				return nil
			}))
			_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
			return n, err
		})
		rt := e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[int](ctx, e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		for i := range 3 {
			if n, err := client.Update[int](ctx, h, "add", i); n != i+1 || err != nil {
				e.T.Errorf("update %d returned %d, %v", i, n, err)
			}
		}
		e.Stop(rt)
		e.Start(reg)
		e.Raise(h.Key(), "done", none{})
		if got, err := h.Wait(ctx); got != 3 || err != nil || validated.Load() != 3 {
			e.T.Errorf("it ended with %d, %v, after %d validations", got, err, validated.Load())
		}
		enginetest.Replays(e, h)
	})
}

// A validator that does more than look refuses its update. The instance goes on as if the update had never come.
func TestValidatorOnlyLooks(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]func(ctx *octx){
		"waits":    func(ctx *octx) { _ = ctx.Sleep(1) },
		"calls":    func(ctx *octx) { orchestration.StartActivity(ctx, Double, 1) },
		"takes":    func(ctx *octx) { _, _, _ = orchestration.Events[none](ctx, "done").TryReceive() },
		"draws":    func(ctx *octx) { _ = ctx.NewUUID() },
		"goes off": func(ctx *octx) { ctx.Go(func(*octx) error { return nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
					n := 0
					orchestration.HandleUpdate(ctx, "add", func(*octx, int) (int, error) {
						n++
						return n, nil
					}, orchestration.Validate(func(in int) error {
						if _ = ctx.Now(); in < 0 { // looking is allowed
							n = 1000
							more(ctx)
						}
						return nil
					}))
					_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
					return n, err
				})
				e.Start(reg)
				ctx := e.T.Context()
				h, err := client.StartNamed[int](ctx, e.Client(client.Options{}), "main", none{})
				if err != nil {
					e.T.Fatal(err)
				}
				for i, in := range []int{5, -1, 6} {
					n, err := client.Update[int](ctx, h, "add", in)
					if refused := errors.Is(err, client.ErrPanicked); refused != (in < 0) || refused != (err != nil) {
						e.T.Errorf("update %d returned %d, %v", i, n, err)
					}
					if in < 0 && (err == nil || !strings.Contains(err.Error(), "may only read")) {
						e.T.Errorf("the caller is told %v", err)
					}
				}
				e.Raise(h.Key(), "done", none{})
				if got, err := h.Wait(ctx); got != 2 || err != nil {
					e.T.Errorf("it ended with %d, %v", got, err)
				}
				if got := kinds(e.History(h.Key(), 1)); strings.Count(got, "UpdateReceived") != 2 {
					e.T.Errorf("the history is %s", got)
				}
				enginetest.Replays(e, h)
			})
		})
	}
}
