package orchestration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// An ID is taken once. Repeats get the outcome of the first, and another name or input is refused.
func TestUpdateIDsAreTakenOnce(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		_, h := startBasket(e)
		ctx := e.T.Context()
		for range 3 {
			if n, err := client.Update[int](ctx, h, "add", "a", client.WithUpdateID("u-1")); err != nil || n != 1 {
				e.T.Errorf("update u-1: %d, %v", n, err)
			}
		}
		for _, other := range []struct {
			name string
			in   any
		}{{"slow", "a"}, {"add", "b"}, {"add", 7}} {
			if _, err := client.Update[int](ctx, h, other.name, other.in, client.WithUpdateID("u-1")); !errors.Is(err, client.ErrUpdateDiffers) {
				e.T.Errorf("%s %v with the ID of another: %v", other.name, other.in, err)
			}
		}
		long := strings.Repeat("x", history.MaxShownInput)
		if _, err := client.Update[int](ctx, h, "add", long, client.WithUpdateID("u-2")); err != nil {
			e.T.Error(err)
		}
		if n, err := client.Update[int](ctx, h, "add", long, client.WithUpdateID("u-2")); err != nil || n != 2 {
			e.T.Errorf("a long input again: %d, %v", n, err)
		}
		if _, err := client.Update[int](ctx, h, "add", long+"x", client.WithUpdateID("u-2")); !errors.Is(err, client.ErrUpdateDiffers) {
			e.T.Errorf("another long input: %v", err)
		}
		// A rejection stands, too, although it left no event.
		if _, err := client.Update[int](ctx, h, "add", "c", client.WithUpdateID("u-3")); err != nil {
			e.T.Error(err)
		}
		send(e, h, "add", "u-4", "d")
		if _, err := outcomeOf(e, client.UpdateOf[int](h, "u-4")); !errors.Is(err, client.ErrRejected) {
			e.T.Errorf("a full cart: %v", err)
		}
		finishBasket(e, h, "a", long, "c")
	})
}

// The oldest outcomes go when they get too many. Their IDs stay known.
func TestUpdateOutcomesAreBounded(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		calls := enginetest.Notes[int]{}
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			orchestration.HandleUpdate(ctx, "blow", func(ctx *octx, n int) (string, error) {
				calls.Add(n)
				return strings.Repeat("x", 2_000_000), ctx.Sleep(time.Millisecond)
			})
			_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
			return none{}, err
		})
		e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[none](ctx, e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		for i := range 14 {
			if _, err := client.Update[string](ctx, h, "blow", i, client.WithUpdateID(fmt.Sprint("u-", i))); err != nil {
				e.T.Fatal(err)
			}
		}
		for range 2 {
			if _, err := client.Update[string](ctx, h, "blow", 0, client.WithUpdateID("u-0")); !errors.Is(err, client.ErrOutcomeGone) {
				e.T.Errorf("an outcome that is gone: %v", err)
			}
		}
		if _, err := client.Update[string](ctx, h, "blow", 13, client.WithUpdateID("u-13")); err != nil {
			e.T.Errorf("the last outcome: %v", err)
		}
		ran := map[int]bool{}
		for _, n := range calls.All() {
			ran[n] = true
		}
		if len(ran) != 14 || strings.Count(kinds(e.History(h.Key(), 1)), "UpdateReceived") != 14 {
			e.T.Errorf("%d updates ran: %v", len(ran), calls.All())
		}
	})
}

// Serial updates run one after the other. Each is validated again when its turn comes.
func TestSerialUpdates(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) ([]string, error) {
			var done []string
			running := 0
			orchestration.HandleUpdate(ctx, "book", func(ctx *octx, seat string) (int, error) {
				if running++; running > 1 {
					return 0, errors.New("two run at once")
				}
				defer func() { running-- }()
				err := ctx.Sleep(20 * time.Millisecond)
				done = append(done, seat)
				return len(done), err
			}, orchestration.Serial(), orchestration.Validate(func(seat string) error {
				if slices.Contains(done, seat) {
					return fmt.Errorf("seat %s is taken", seat)
				}
				return nil
			}))
			_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
			return done, err
		})
		e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[[]string](ctx, e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		seats := []string{"a", "b", "a", "c"}
		for i, seat := range seats {
			send(e, h, "book", fmt.Sprint("u-", i), seat)
		}
		for i, want := range []int{1, 2, 0, 3} {
			n, err := outcomeOf(e, client.UpdateOf[int](h, fmt.Sprint("u-", i)))
			if n != want || (want == 0) != errors.Is(err, client.ErrRejected) {
				e.T.Errorf("booking %s: %d, %v", seats[i], n, err)
			}
		}
		if err := h.Raise(ctx, "done", none{}); err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(ctx); err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
			e.T.Errorf("booked %v, %v", got, err)
		}
		enginetest.Replays(e, h)
	})
}

// When the function has returned, accepted updates go on and nothing new is accepted. Callers learn of abandoned updates.
func TestUpdatesWhileTheInstanceCloses(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg, gate := runtime.NewRegistry(), make(chan none)
		enginetest.Activity(e.T, reg, "gate", gated(gate))
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			finish := false
			wait := func(ctx *octx, n int) (int, error) {
				for !finish {
					if err := ctx.Sleep(10 * time.Millisecond); err != nil {
						return 0, err
					}
				}
				return n, nil
			}
			orchestration.HandleUpdate(ctx, "wait", wait)
			orchestration.HandleUpdate(ctx, "watch", func(ctx *octx, _ int) (int, error) {
				return 0, ctx.Sleep(time.Hour)
			}, orchestration.AbandonAtEnd())
			orchestration.HandleUpdate(ctx, "finish", func(ctx *octx, _ int) (int, error) {
				_, err := orchestration.CallActivityNamed[none](ctx, "gate", none{})
				finish = true
				return 0, err
			})
			_, err := orchestration.Events[none](ctx, "done").Receive(ctx)
			return 7, err
		})
		e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[int](ctx, e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		for _, name := range []string{"wait", "watch", "finish"} {
			u, err := client.SendUpdate[int](ctx, h, name, 3, client.WithUpdateID(name))
			if err == nil {
				_, err = outcomeOf(e, u, client.UntilAccepted())
			}
			if err != nil {
				e.T.Fatal(err)
			}
		}
		d, err := h.Describe(ctx)
		if err != nil || len(d.Updates) != 3 || d.Updates[0].Name == "" || d.Updates[0].Stage != client.UpdateAccepted || d.Updates[0].Since.IsZero() {
			e.T.Errorf("pending updates %+v, %v", d.Updates, err)
		}
		if err := h.Raise(ctx, "done", none{}); err != nil {
			e.T.Fatal(err)
		}
		handled(e, h.Key(), history.KindMainReturned, 1)
		if _, err := client.Update[int](ctx, h, "wait", 4); !errors.Is(err, client.ErrClosing) {
			e.T.Errorf("an update while the instance closes: %v", err)
		}
		close(gate)
		if n, err := outcomeOf(e, client.UpdateOf[int](h, "wait")); err != nil || n != 3 {
			e.T.Errorf("an accepted update: %d, %v", n, err)
		}
		if _, err := outcomeOf(e, client.UpdateOf[int](h, "watch")); !errors.Is(err, client.ErrAbandoned) {
			e.T.Errorf("an abandoned update: %v", err)
		}
		if got, err := h.Wait(ctx); err != nil || got != 7 {
			e.T.Errorf("ended with %d, %v", got, err)
		}
		enginetest.Replays(e, h)
	})
}

// An update that comes while an execution that continues as new closes goes to the next one.
func TestUpdatesOfTheClosingGoAlong(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg, gate := runtime.NewRegistry(), make(chan none)
		enginetest.Activity(e.T, reg, "gate", gated(gate))
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, round int) (int, error) {
			orchestration.HandleUpdate(ctx, "slow", func(ctx *octx, n int) (int, error) {
				_, err := orchestration.CallActivityNamed[none](ctx, "gate", none{})
				return round*10 + n, err
			}, orchestration.Validate(func(n int) error {
				if n == 5 {
					return fmt.Errorf("no %d in round %d", n, round)
				}
				return nil
			}))
			if _, err := orchestration.Events[none](ctx, "next").Receive(ctx); err != nil || round == 2 {
				return round, err
			}
			return 0, orchestration.ContinueAsNew(ctx, round+1)
		})
		e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[int](ctx, e.Client(client.Options{}), "main", 1)
		if err != nil {
			e.T.Fatal(err)
		}
		first, err := client.SendUpdate[int](ctx, h, "slow", 1)
		if err == nil {
			_, err = outcomeOf(e, first, client.UntilAccepted())
		}
		if err == nil {
			err = h.Raise(ctx, "next", none{})
		}
		if err != nil {
			e.T.Fatal(err)
		}
		handled(e, h.Key(), history.KindMainReturned, 1)
		var later []client.UpdateHandle[int]
		for _, n := range []int{2, 5} {
			u, err := client.SendUpdate[int](ctx, h, "slow", n)
			if err != nil {
				e.T.Fatal(err)
			}
			later = append(later, u)
		}
		close(gate)
		if n, err := outcomeOf(e, first); !errors.Is(err, client.ErrNotCarried) || n != 11 {
			e.T.Errorf("the update before: %d, %v", n, err)
		}
		if n, err := outcomeOf(e, later[0]); err != nil || n != 22 {
			e.T.Errorf("the update of the closing: %d, %v", n, err)
		}
		if _, err := outcomeOf(e, later[1]); !errors.Is(err, client.ErrRejected) {
			e.T.Errorf("the update that the next execution rejects: %v", err)
		}
		if err := h.Raise(ctx, "next", none{}); err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(ctx); err != nil || got != 2 {
			e.T.Errorf("ended with %d, %v", got, err)
		}
		enginetest.Replays(e, h)
	})
}

// A start and an update are one commit, also with an instance that exists.
func TestStartAndUpdate(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c, _ := startBasket(e)
		ctx := e.T.Context()
		fn := orchestration.Define("basket", basket)
		add := func(item string, opts ...client.StartOption) (client.Handle[[]string], int, error) {
			h, u, err := client.StartAndUpdate[int](ctx, c, fn, none{}, "add", item,
				append(opts, client.WithID("shared"), client.WithIDPolicy(client.UseExisting))...)
			if err != nil {
				return h, 0, err
			}
			n, err := outcomeOf(e, u) //nolint:contextcheck // that of the test
			return h, n, err
		}
		h, n, err := add("a")
		if err != nil || n != 1 {
			e.T.Fatalf("the first start: %d, %v", n, err)
		}
		if _, n, err := add("b"); err != nil || n != 2 {
			e.T.Errorf("the second start: %d, %v", n, err)
		}
		for range 2 {
			if _, n, err := add("c", client.WithUpdateID("u-1")); err != nil || n != 3 {
				e.T.Errorf("the third start: %d, %v", n, err)
			}
		}
		if _, _, err := add("d"); !errors.Is(err, client.ErrRejected) {
			e.T.Errorf("a full cart: %v", err)
		}
		finishBasket(e, h, "a", "b", "c")
		if _, _, err := add("e"); !errors.Is(err, client.ErrEnded) {
			e.T.Errorf("an instance that has ended: %v", err)
		}
	})
}
