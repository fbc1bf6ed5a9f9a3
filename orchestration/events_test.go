package orchestration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// drain receives events until one that is negative.
func drain(ctx *octx, name string) ([]int, error) {
	var got []int
	box := orchestration.Events[int](ctx, name)
	for {
		v, err := box.Receive(ctx)
		if err != nil || v < 0 {
			return got, err
		}
		got = append(got, v)
	}
}

// Events that arrive before the code waits for them are kept, also those from before the first turn. The code receives
// them in the order in which they were sent.
func TestEventsAreKeptAndComeInOrder(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) ([]int, error) {
			if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
				return nil, err
			}
			return drain(ctx, "box")
		})
		key := e.Create("main", "main", none{})
		var want []int
		for i := range 30 {
			if i == 10 {
				e.Start(reg)
			}
			e.Raise(key, "box", i)
			want = append(want, i)
		}
		e.Raise(key, "box", -1)
		if diff := cmp.Diff(want, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// Boxes of different names are different queues; those of one name are the same.
func TestMailboxesByName(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]string, error) {
			a, b := orchestration.Events[string](ctx, "a"), orchestration.Events[string](ctx, "b")
			again := orchestration.Events[string](ctx, "a")
			var got []string
			for _, box := range []orchestration.Mailbox[string]{b, a, again} {
				v, err := box.Receive(ctx)
				if err != nil {
					return nil, err
				}
				got = append(got, v)
			}
			return got, nil
		}, none{})
		for _, event := range []string{"a0", "a1", "b0"} {
			e.Raise(key, event[:1], event)
		}
		if diff := cmp.Diff([]string{"b0", "a0", "a1"}, enginetest.Output[[]string](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

func TestReceiveWithin(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]string, error) {
			box := orchestration.Events[string](ctx, "box")
			var got []string
			for _, limit := range []time.Duration{0, time.Hour, time.Hour, 24 * time.Hour} {
				v, err := box.Receive(ctx, orchestration.Within(limit))
				if errors.Is(err, orchestration.ErrTimeout) {
					v = "timeout"
				} else if err != nil {
					return nil, err
				}
				got = append(got, v)
			}
			return got, nil
		}, none{})
		e.Until("three waits have passed", func() bool { return e.Get(key).HistoryLength >= 6 })
		e.Raise(key, "box", "late")
		if diff := cmp.Diff([]string{"timeout", "timeout", "timeout", "late"}, enginetest.Output[[]string](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

func TestTryReceiveNeverBlocks(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) ([]bool, error) {
			box, stop := orchestration.Events[int](ctx, "box"), orchestration.Events[none](ctx, "stop")
			_, before, err := box.TryReceive()
			if err != nil {
				return nil, err
			}
			if _, err := stop.Receive(ctx); err != nil {
				return nil, err
			}
			_, first, _ := box.TryReceive()
			_, second, _ := box.TryReceive()
			return []bool{before, first, second}, nil
		}, none{})
		e.Until("it waits", func() bool { return e.Get(key).HistoryLength > 0 })
		e.Raise(key, "box", 1)
		e.Raise(key, "stop", none{})
		if diff := cmp.Diff([]bool{false, true, false}, enginetest.Output[[]bool](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// An event that cannot be decoded is consumed: the next one can be received.
func TestEventOfTheWrongType(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, _ none) (int, error) {
			box := orchestration.Events[int](ctx, "box")
			if _, err := box.Receive(ctx); !errors.Is(err, orchestration.ErrPayload) {
				return 0, fmt.Errorf("wrong type: %w", err)
			}
			if err := ctx.Sleep(time.Second); err != nil {
				return 0, err
			}
			if _, ok, err := box.TryReceive(); !ok || !errors.Is(err, orchestration.ErrPayload) {
				return 0, fmt.Errorf("wrong type: %v, %w", ok, err)
			}
			return box.Receive(ctx)
		}, none{})
		e.Raise(key, "box", "one")
		e.Raise(key, "box", []int{2})
		e.Raise(key, "box", 3)
		if got := enginetest.Output[int](e, key); got != 3 {
			e.T.Errorf("got %d", got)
		}
	})
}

// A repeat of a request is dropped, in one batch and long after, in later executions too.
func TestHazard15_RepeatedEventsAreDropped(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), func(ctx *octx, got []int) ([]int, error) {
			v, err := orchestration.Events[int](ctx, "box").Receive(ctx)
			switch {
			case err != nil:
				return nil, err
			case v < 0:
				return got, nil
			default:
				return nil, orchestration.ContinueAsNew(ctx, append(got, v))
			}
		}, nil)
		for i := range 4 {
			for range 3 {
				e.RaiseAs(key, "box", i, fmt.Sprint("request ", i))
			}
			e.RaiseAs(key, "box", 0, "request 0")
		}
		e.Until("all are read", func() bool { i := e.Get(key); return i.Execution >= 5 && i.InboxMessages == 0 })
		e.RaiseAs(key, "box", 0, "request 0")
		e.Raise(key, "box", -1)
		if diff := cmp.Diff([]int{0, 1, 2, 3}, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// Executions that older releases started get messages that came together one by one: what the code sees at the first of
// them does not depend on the batch.
func TestHazard06_BatchesAreInvisible(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) ([]int, error) {
			a, b := orchestration.Events[int](ctx, "a"), orchestration.Events[int](ctx, "b")
			if _, err := a.Receive(ctx); err != nil {
				return nil, err
			}
			_, early, _ := b.TryReceive()
			if early {
				return nil, errors.New("the event of the same batch is visible")
			}
			i, err := orchestration.Select(ctx, b, a)
			if err != nil {
				return nil, err
			}
			return []int{i}, ctx.Sleep(time.Hour)
		})
		key := e.CreateOneByOne("main", "main", none{})
		e.Raise(key, "a", 1)
		e.Raise(key, "a", 2)
		e.Raise(key, "b", 3)
		e.Start(reg)
		if diff := cmp.Diff([]int{1}, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
}

// Now is the time of the event that the code handles, not that of the batch or of the turn. It is the same whether the
// code ran live, cached or again.
func TestHazard06_NowIsOfTheEventLastApplied(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) ([]int64, error) {
			seen := []int64{ctx.Now().UnixMicro()}
			tick := orchestration.StartTimer(ctx, time.Hour)
			box := orchestration.Events[int](ctx, "box")
			for range 4 {
				if i, err := orchestration.Select(ctx, box, tick); err != nil {
					return nil, err
				} else if i == 0 {
					_, _, _ = box.TryReceive()
				} else {
					tick = orchestration.StartTimer(ctx, 24*time.Hour)
				}
				seen = append(seen, ctx.Now().UnixMicro())
			}
			return seen, ctx.Sleep(time.Hour)
		})
		rt := e.Start(reg)
		key := e.Create("main", "main", none{})
		e.Until("it waits", func() bool { return e.Get(key).HistoryLength == 2 })
		e.Stop(rt)
		// The timer and the events wait together: a batch of messages that became visible at different times.
		e.Raise(key, "box", 1)
		time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
		e.Raise(key, "box", 2)
		e.Start(reg)
		e.Until("the batch is read", func() bool { return e.Get(key).HistoryLength == 6 })
		e.Raise(key, "box", 3)
		seen := enginetest.Output[[]int64](e, key)
		var want []int64
		for _, event := range e.History(key, 1) {
			if event.Body.Kind().IsMessage() && len(want) < len(seen) {
				want = append(want, event.At)
			}
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			e.T.Error(diff)
		}
	})
}

// Thousands of events, more than one fetch holds, are read in order.
func TestManyEvents(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const n = provider.MaxFetchMessages*2 + 10
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			got, err := drain(ctx, "box")
			for i, v := range got {
				if v != i {
					return 0, fmt.Errorf("event %d is %d", i, v)
				}
			}
			return len(got), err
		})
		key := e.Create("main", "main", none{})
		for i := range n {
			e.Raise(key, "box", i)
		}
		e.Raise(key, "box", -1)
		e.Start(reg)
		if got := enginetest.Output[int](e, key); got != n {
			e.T.Errorf("got %d", got)
		}
	})
}

// Events that each make the code ask for many things are spread over several commits: no
// batch makes one that is too large.
func TestBatchThatAsksForTooMuch(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const events, each = 400, 40
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			box := orchestration.Events[int](ctx, "box")
			for i := range events {
				if _, err := box.Receive(ctx); err != nil {
					return i, err
				}
				for range each {
					timer := orchestration.StartTimer(ctx, time.Hour)
					if timer.Ready() {
						_, err := timer.Get(ctx)
						return i, err
					}
					timer.Cancel()
				}
			}
			return events, nil
		})
		key := e.Create("main", "main", none{})
		for i := range events {
			e.Raise(key, "box", i)
		}
		e.Start(reg)
		if got := enginetest.Output[int](e, key); got != events {
			e.T.Errorf("got %d", got)
		}
		if n := e.Get(key).HistoryLength; n != events*(2*each+1)+2 || n < provider.MaxCommitRows {
			e.T.Errorf("%d events in the history", n)
		}
	})
}
