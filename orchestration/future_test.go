package orchestration_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// All returns the values of those that succeeded, and all failures in order.
func TestAllJoinsFailures(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]string, error) {
			a := orchestration.StartActivity(ctx, Refuse, "first")
			b := orchestration.StartActivity(ctx, Refuse, "second")
			_, err := orchestration.All(ctx, a, b)
			mixed, err2 := orchestration.All(ctx, orchestration.StartActivity(ctx, Double, 1), orchestration.StartActivity(ctx, Double, 2))
			if err2 != nil || mixed[1] != 4 {
				return nil, err2
			}
			empty, err3 := orchestration.All[int](ctx)
			if err3 != nil || len(empty) != 0 {
				return nil, err3
			}
			return strings.Split(err.Error(), "\n"), nil
		}, none{})
		if diff := cmp.Diff([]string{"refused", "first", "refused", "second"}, enginetest.Output[[]string](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// Race cancels its losers: the running one hears of it, and the timer leaves the store.
func TestHazard45_RaceCancelsItsLosers(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var cause error
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "loser", func(ctx context.Context, _ none) (none, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return none{}, ctx.Err()
		})
		key := start(e, reg, func(ctx *octx, _ none) (int, error) {
			loser := orchestration.StartActivityNamed[none](ctx, "loser", none{})
			_, index, err := orchestration.Race(ctx, loser, orchestration.StartTimer(ctx, time.Minute), orchestration.StartTimer(ctx, time.Hour))
			if err != nil {
				return 0, err
			}
			if _, err := loser.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
				return 0, err
			}
			if _, _, err := orchestration.Race[none](ctx); err == nil {
				return 0, errors.New("a race of nothing has no winner")
			}
			return index, ctx.Sleep(time.Minute)
		}, none{})
		began := time.Now()
		if got := enginetest.Output[int](e, key); got != 1 {
			e.T.Errorf("winner %d", got)
		}
		if took := time.Since(began); took > 3*time.Minute {
			e.T.Errorf("took %v: the losers were waited for", took)
		}
		e.Until("the loser ends", func() bool { return cause != nil })
		if !errors.Is(cause, activity.ErrCancelled) {
			e.T.Errorf("cause of the loser: %v", cause)
		}
	})
}

// Select reports which case is ready, consumes nothing and cancels nothing.
func TestHazard45_SelectCancelsNothing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]int, error) {
			box := orchestration.Events[string](ctx, "box")
			short, long := orchestration.StartTimer(ctx, time.Hour), orchestration.StartTimer(ctx, 2*time.Hour)
			var order []int
			for range 3 {
				i, err := orchestration.Select(ctx, long, box, short)
				if err != nil {
					return nil, err
				}
				order = append(order, i)
				switch i {
				case 1:
					if _, ok, err := box.TryReceive(); !ok || err != nil {
						return nil, errors.New("select took the event")
					}
				case 2:
					short = orchestration.StartTimer(ctx, 100*time.Hour)
				}
			}
			if _, err := orchestration.Select(ctx); err == nil {
				return nil, errors.New("a select without cases would block for ever")
			}
			return order, nil
		}, none{})
		e.Raise(key, "box", "x")
		if diff := cmp.Diff([]int{1, 2, 0}, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// Each reader of a future decodes a copy: what one does to it the other does not see.
func TestHazard34_ReadersOfAFutureShareNothing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "list", func(_ context.Context, in []int) ([]int, error) { return in, nil })
		key := start(e, reg, func(ctx *octx, _ none) (int, error) {
			in := []int{1, 2}
			f := orchestration.StartActivityNamed[[]int](ctx, "list", in)
			in[0] = 100 // the input was encoded at the call
			a, err := f.Get(ctx)
			if err != nil {
				return 0, err
			}
			a[0] = 50
			b, err := f.Get(ctx)
			return b[0], err
		}, none{})
		if got := enginetest.Output[int](e, key); got != 1 {
			e.T.Errorf("the second reader saw %d", got)
		}
	})
}

func TestResultOfTheWrongTypeIsAnError(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (int, error) {
			_, err := orchestration.CallActivityNamed[string](ctx, "Double", 2)
			if !errors.Is(err, orchestration.ErrPayload) {
				return 0, err
			}
			return orchestration.CallActivity(ctx, Double, 2)
		}, none{})
		if got := enginetest.Output[int](e, key); got != 4 {
			e.T.Errorf("got %d", got)
		}
	})
}

// Timers of hours fire when they are due by the storage's clock, also those that nobody
// would wait for to the end.
func TestTimers(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]time.Duration, error) {
			var slept []time.Duration
			for _, d := range []time.Duration{-time.Second, 0, time.Nanosecond, 90 * time.Minute, 5 * time.Hour} {
				began := ctx.Now()
				if err := ctx.Sleep(d); err != nil {
					return nil, err
				}
				slept = append(slept, ctx.Now().Sub(began))
			}
			forever := orchestration.StartTimer(ctx, math.MaxInt64)
			if err := ctx.Sleep(time.Hour); err != nil {
				return nil, err
			}
			if forever.Ready() {
				return nil, errors.New("a timer of 292 years has fired")
			}
			return slept, nil
		}, none{})
		got := enginetest.Output[[]time.Duration](e, key)
		if got[0] != 0 || got[1] != 0 {
			e.T.Errorf("a timer of no length took time: %v", got)
		}
		for i, least := range []time.Duration{time.Microsecond, 90 * time.Minute, 5 * time.Hour} {
			if d := got[i+2]; d < least || d > least+time.Second {
				e.T.Errorf("timer of %v took %v", least, d)
			}
		}
	})
}

// A timer that is cancelled leaves nothing in the inbox.
func TestCancelledTimerLeavesTheStore(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (none, error) {
			timer := orchestration.StartTimer(ctx, 24*time.Hour)
			if err := ctx.Sleep(time.Second); err != nil {
				return none{}, err
			}
			timer.Cancel()
			timer.Cancel() // once is enough
			if _, err := timer.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
				return none{}, err
			}
			_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
			return none{}, err
		}, none{})
		e.Until("the timer is gone", func() bool { return e.Get(key).InboxMessages == 0 && e.Get(key).HistoryLength > 4 })
		e.Raise(key, "end", none{})
		enginetest.Output[none](e, key)
	})
}

// Ten thousand results come back in time that does not grow with the square of them.
func TestWideFanIn(t *testing.T) {
	t.Parallel()
	width := 10_000
	if racedetector.On {
		width = 2_000 // make test-long lets ten thousand come back without the race detector
	}
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) (int, error) {
			futures := make([]orchestration.Future[int], n)
			for i := range futures {
				futures[i] = orchestration.StartActivity(ctx, Double, 1)
			}
			values, err := orchestration.All(ctx, futures...)
			return len(values), err
		}, width)
		if got := enginetest.Output[int](e, key); got != width {
			e.T.Errorf("got %d", got)
		}
	})
}

// One more than may be pending is refused to the code, which can continue.
func TestPendingActivitiesAreBounded(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, n int) (int, error) {
			var futures []orchestration.Future[int]
			for range n {
				futures = append(futures, orchestration.StartActivity(ctx, Double, 1))
			}
			if _, err := futures[n-1].Get(ctx); !errors.Is(err, orchestration.ErrTooLarge) {
				return 0, err
			}
			return n, nil
		}, 10_001)
		if got := enginetest.Output[int](e, key); got != 10_001 {
			e.T.Errorf("got %d", got)
		}
	})
}
