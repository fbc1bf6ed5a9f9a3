package orchestration_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// drawn is what the code of drawing has drawn.
type drawn struct {
	Numbers   []uint64
	UUIDs     []string
	ID        string
	Execution int64
	Input     string
}

// drawing draws before each event, and takes a path that depends on it.
func drawing(ctx *octx, in string) (drawn, error) {
	out := drawn{Input: in}
	numbers := ctx.Rand() // held over the point
	for i := range 4 {
		ctx.SetStatus(i)
		out.Numbers = append(out.Numbers, numbers.Uint64())
		out.UUIDs = append(out.UUIDs, ctx.NewUUID().String())
		if numbers.Uint64()%2 == 0 {
			if _, err := orchestration.CallActivityNamed[int](ctx, "act", 1); err != nil {
				return out, err
			}
		}
		if _, err := orchestration.Events[int](ctx, "next").Receive(ctx); err != nil {
			return out, err
		}
	}
	out.ID, out.Execution = ctx.Info().ID, ctx.Info().Execution
	return out, nil
}

// draw gives the code its next events, from the n-th on, one in each turn.
func draw(e *enginetest.Engine, h client.Handle[drawn], n int) {
	e.T.Helper()
	for i := n; i < 4; i++ {
		e.Until("it has drawn", func() bool { return string(e.Get(h.Key()).CustomStatus) == fmt.Sprint(i) })
		e.Raise(h.Key(), "next", i)
	}
}

// pointOf returns the event at which the n-th external event was received.
func pointOf[T any](e *enginetest.Engine, h client.Handle[T], n int) int64 {
	e.T.Helper()
	for _, event := range events(e, h) {
		if event.Body.Kind() == history.KindEventReceived {
			if n--; n == 0 {
				return event.ID
			}
		}
	}
	e.T.Fatal("it has not so many events")
	return 0
}

// Up to the point random numbers repeat, after it they differ, over resets of resets and forks of resets. Info has the new identity.
func TestHazard56_RandomNumbersRepeatUpToThePoint(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := startNode(e)
		for try := range 4 { // each takes other paths
			h := startOf[drawn](e, c, "drawing", fmt.Sprint("drawing-", try), "first")
			draw(e, h, 0)
			last, err := ended(e, h)
			if err != nil {
				e.T.Fatal(err)
			}
			same := func(what string, h client.Handle[drawn], n int, execution int64) {
				e.T.Helper()
				draw(e, h, n-1)
				got, err := ended(e, h)
				if err != nil || got.ID != h.ID() || got.Execution != execution {
					e.T.Fatalf("%s: %+v, %v", what, got, err)
				}
				for i := range 4 {
					if kept := i < n; kept != (got.Numbers[i] == last.Numbers[i]) || kept != (got.UUIDs[i] == last.UUIDs[i]) {
						e.T.Errorf("%s: draw %d, of which %d are kept: %d, %s, after %d, %s",
							what, i, n, got.Numbers[i], got.UUIDs[i], last.Numbers[i], last.UUIDs[i])
					}
				}
				enginetest.Replays(e, h)
				last = got
			}
			reset(e, h, pointOf(e, h, 3), client.DropLater())
			same("reset", h, 3, 2)
			reset(e, h, pointOf(e, h, 2), client.DropLater())
			same("reset before the point of the first", h, 2, 3)
			reset(e, h, pointOf(e, h, 4), client.DropLater())
			same("reset behind two points", h, 4, 4)
			f, err := client.Fork(e.T.Context(), h, pointOf(e, h, 3), fmt.Sprint("fork-", try))
			if err != nil {
				e.T.Fatal(err)
			}
			same("fork of a reset", f, 3, 1)
		}
	})
}

// Another input is for event 1 only. There nothing is kept.
func TestHazard56_AnotherInputNeedsTheStart(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[drawn](e, c, "drawing", "drawing", "first")
		for i := range 4 {
			e.Raise(h.Key(), "next", i)
		}
		first, err := ended(e, h)
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Reset(e.T.Context(), h, pointOf(e, h, 1), client.WithInput("second")); !errors.Is(err, client.ErrBadPoint) {
			e.T.Errorf("another input in the middle: %v", err)
		}
		reset(e, h, 1, client.WithInput("second"), client.WithReason("typo"))
		got, err := ended(e, h)
		if err != nil || got.Input != "second" || got.Numbers[0] == first.Numbers[0] {
			e.T.Errorf("%+v, %v; before: %+v", got, err, first)
		}
		point, ok := events(e, h)[1].Body.(*history.ForkPoint)
		if !ok || point.Reason != "typo" || point.Execution != 1 || point.Event != 1 || point.ID != "drawing" {
			e.T.Errorf("%+v", events(e, h)[1].Body)
		}
		f, err := client.Fork(e.T.Context(), h, 1, "other", client.WithInput("third"))
		if err != nil {
			e.T.Fatal(err)
		}
		for i := range 4 {
			e.Raise(f.Key(), "next", i)
		}
		if got, err = ended(e, f); err != nil || got.Input != "third" {
			e.T.Errorf("%+v, %v", got, err)
		}
	})
}

// A start that was delayed is not delayed again.
func TestResetToTheStartHasNoDelay(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "collect", "late", none{}, client.WithDelay(time.Hour))
		e.Raise(h.Key(), "item", 0)
		first, err := ended(e, h)
		if err != nil {
			e.T.Fatal(err)
		}
		before := e.Get(h.Key()).EndedAt
		reset(e, h, 1)
		again, err := ended(e, h)
		if took := e.Get(h.Key()).EndedAt.Sub(before); err != nil || first != again || took > time.Minute {
			e.T.Errorf("%d, %v, after %v", again, err, took)
		}
	})
}

// Events that came after the point are received again, in their order and before those that wait. A repeat of one is dropped.
func TestHazard58_LaterEventsAreCarried(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "collect", "collect", none{})
		for n := 1; n <= 5; n++ {
			e.RaiseAs(h.Key(), "item", n, fmt.Sprint("request-", n))
			e.Until("it is received", func() bool { return string(e.Get(h.Key()).CustomStatus) == "12345"[:n] })
		}
		e.Steer(h.Key(), provider.SteerSuspend)
		e.Raise(h.Key(), "item", 6) // waits at the reset
		reset(e, h, pointOf(e, h, 3))
		for n := 1; n <= 5; n++ {
			e.RaiseAs(h.Key(), "item", n, fmt.Sprint("request-", n)) // each was stored before
		}
		e.Raise(h.Key(), "item", 0)
		if got, err := ended(e, h); err != nil || got != 123456 {
			e.T.Errorf("%d, %v", got, err)
		}
	})
}

// With DropLater they are gone, and so are their request IDs: a sender that repeats one gets it stored.
func TestHazard58_DroppedEventsMayComeAgain(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "collect", "collect", none{})
		for n := 1; n <= 4; n++ {
			e.RaiseAs(h.Key(), "item", n, fmt.Sprint("request-", n))
			e.Until("it is received", func() bool { return string(e.Get(h.Key()).CustomStatus) == "1234"[:n] })
		}
		reset(e, h, pointOf(e, h, 3), client.DropLater())
		for n := 4; n >= 1; n-- {
			e.RaiseAs(h.Key(), "item", n, fmt.Sprint("request-", n))
		}
		e.Raise(h.Key(), "item", 0)
		if got, err := ended(e, h); err != nil || got != 1243 {
			e.T.Errorf("%d, %v", got, err)
		}
	})
}

// An execution that continues another one has messages before its code. It opens at each of them, and at none of them the code waits for ever.
func TestHazard58_ContinuedExecutionsOpenAnywhere(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "again", func(ctx *octx, n int) (int, error) {
			if n == 0 {
				if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
					return 0, err
				}
				return 0, orchestration.ContinueAsNew(ctx, 1)
			}
			sum := 0
			for range 3 {
				i, err := orchestration.Events[int](ctx, "item").Receive(ctx)
				if err != nil {
					return 0, err
				}
				sum = 10*sum + i
			}
			return sum, nil
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		for at := int64(1); ; at++ {
			h := startOf[int](e, c, "again", fmt.Sprint("again-", at), 0)
			for i := 1; i <= 3; i++ {
				e.Raise(h.Key(), "item", i)
			}
			e.Raise(h.Key(), "go", 0)
			if got, err := ended(e, h); err != nil || got != 123 {
				e.T.Fatalf("%d, %v", got, err)
			}
			all := events(e, h)
			if at > int64(len(all)) {
				break
			}
			if !all[at-1].Body.Kind().IsMessage() {
				continue
			}
			reset(e, h, at)
			if got, err := ended(e, h); err != nil || got != 123 {
				e.T.Errorf("at %d (%v): %d, %v", at, kinds(all), got, err)
			}
		}
	})
}

// showing shows each of its items in a status, a key-value and an attribute of its own.
func showing(ctx *octx, _ none) (int, error) {
	for i := 0; ; i++ {
		item, err := orchestration.Events[string](ctx, "item").Receive(ctx)
		if err != nil || item == "" {
			return i, err
		}
		ctx.SetStatus(item)
		orchestration.SetValue(ctx, "last", item)
		orchestration.SetValue(ctx, "value "+item, i)
		orchestration.SetAttribute(ctx, "last", item)
		orchestration.SetAttribute(ctx, "attribute "+item, true)
	}
}

// columns returns all that an instance shows.
func columns(e *enginetest.Engine, key provider.UUID) []string {
	e.T.Helper()
	res, err := e.Store.Get(e.T.Context(), provider.GetRequest{Key: key, WithValues: true})
	if err != nil {
		e.T.Fatal(err)
	}
	all := []string{string(res.Instance.CustomStatus)}
	for _, v := range res.Values {
		all = append(all, v.Key+" "+string(v.Value))
	}
	for _, a := range res.Instance.Attributes {
		all = append(all, a.Name+a.Text)
	}
	return all
}

// An instance shows the columns that its code had set at the point, and those that its code has never set.
func TestHazard78_AResetTakesBackWhatCodeHasShown(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "showing", "showing", none{}, client.WithAttribute("customer", "ann"))
		for _, item := range []string{"begun", "paid", "sent"} {
			e.Raise(h.Key(), "item", item)
			e.Until("it is showing", func() bool { return string(e.Get(h.Key()).CustomStatus) == `"`+item+`"` })
		}
		at := pointOf(e, h, 2)
		want := []string{`"begun"`, `last "begun"`, "value begun 0", "attribute begun", "customerann", "lastbegun"}
		f, err := client.Fork(e.T.Context(), h, at, "fork")
		if err != nil {
			e.T.Fatal(err)
		}
		reset(e, h, at, client.DropLater())
		for _, key := range []provider.UUID{h.Key(), f.Key()} {
			if got := columns(e, key); !slices.Equal(got, want) {
				e.T.Errorf("%s shows %q, want %q", e.Get(key).ID, got, want)
			}
		}
		e.Raise(h.Key(), "item", "begun") // what is showing now is set again
		e.Raise(h.Key(), "item", "")
		if _, err := ended(e, h); err != nil {
			e.T.Fatal(err)
		}
		if got := columns(e, h.Key()); len(got) != len(want) {
			e.T.Errorf("at its end it shows %q", got)
		}
		reset(e, h, 1, client.DropLater())
		if got, want := columns(e, h.Key()), []string{"", "customerann"}; !slices.Equal(got, want) {
			e.T.Errorf("from the start it shows %q, want %q", got, want)
		}
	})
}
