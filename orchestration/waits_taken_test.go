package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// looked is the limit of the waits that look first.
const looked = time.Hour

// A look is a call that looks whether an event is there, and lets other code run before it waits or returns.
type look func(ctx *octx, box orchestration.Mailbox[int]) (string, error)

// An ending is how such a call ends if other code takes the event.
type ending struct {
	call look
	got  string
	took time.Duration
}

// looks are the calls that look first. Each has a limit, or ends at once.
func looks() map[string]ending {
	timer := func(ctx *octx) orchestration.Future[none] { return orchestration.StartTimer(ctx, looked) }
	return map[string]ending{
		"Receive within": {func(ctx *octx, box orchestration.Mailbox[int]) (string, error) {
			n, err := box.Receive(ctx, orchestration.Within(looked))
			return timedOut(n, err)
		}, "timeout", looked},
		"Receive in a scope": {func(ctx *octx, box orchestration.Mailbox[int]) (string, error) {
			ctx, cancel := ctx.WithTimeout(looked)
			defer cancel()
			n, err := box.Receive(ctx)
			return timedOut(n, err)
		}, "timeout", looked},
		"TryReceive": {func(_ *octx, box orchestration.Mailbox[int]) (string, error) {
			n, ok, err := box.TryReceive()
			return fmt.Sprint(n, ok), err
		}, "0 false", 0},
		"Select": {func(ctx *octx, box orchestration.Mailbox[int]) (string, error) {
			i, err := orchestration.Select(ctx, box, timer(ctx))
			return fmt.Sprint("case ", i), err
		}, "case 1", looked},
		"Select of mailboxes": {func(ctx *octx, box orchestration.Mailbox[int]) (string, error) {
			ctx, cancel := ctx.WithTimeout(looked)
			defer cancel()
			i, err := orchestration.Select(ctx, orchestration.Events[int](ctx, "empty"), box)
			return timedOut(i, err)
		}, "timeout", looked},
		"Race": {func(ctx *octx, box orchestration.Mailbox[int]) (string, error) {
			_, i, err := orchestration.Race(ctx, ctx.Go(func(ctx *octx) error {
				_, err := box.Receive(ctx)
				return err
			}), timer(ctx))
			return fmt.Sprint("future ", i), err
		}, "future 1", looked},
		"AwaitHandlers": {func(ctx *octx, box orchestration.Mailbox[int]) (string, error) {
			err := ctx.AwaitHandlers()
			_, left, _ := box.TryReceive()
			return fmt.Sprint(left), err
		}, "false", 0},
		"ContinueAsNewAfterHandlers": {func(ctx *octx, box orchestration.Mailbox[int]) (string, error) {
			left := false
			err := orchestration.ContinueAsNewAfterHandlers(ctx, func() *int {
				_, left, _ = box.TryReceive()
				return nil
			})
			if err != nil && strings.Contains(err.Error(), "continue") {
				err = nil // the request to continue, which the code does not return
			}
			return fmt.Sprint(left), err
		}, "false", 0},
	}
}

// timedOut says that a wait has reached its limit.
func timedOut(n int, err error) (string, error) {
	if errors.Is(err, orchestration.ErrTimeout) {
		return "timeout", nil
	}
	return fmt.Sprint(n), err
}

// takers are the other code: each takes the event when the call under test lets it run, and not before. The runs of handlers are fresh: they
// begin for what came before.
func takers() map[string]func(ctx *octx, take func() error) {
	return map[string]func(ctx *octx, take func() error){
		"an event's handler": func(ctx *octx, take func() error) {
			orchestration.HandleEvent(ctx, "nudge", func(*octx, none) error { return take() })
		},
		"an update's handler": func(ctx *octx, take func() error) {
			orchestration.HandleUpdate(ctx, "ask", func(*octx, none) (none, error) { return none{}, take() })
		},
		"a coroutine beside a handler": func(ctx *octx, take func() error) {
			ctx.Go(func(*octx) error { return take() })
			orchestration.HandleEvent(ctx, "nudge", func(*octx, none) error { return nil })
		},
	}
}

// A call that looks for an event lets fresh handlers run first, and they and other coroutines may take it. It then looks again: it returns at
// once or at its limit, and never waits for what is gone. The event is taken once.
func TestNoWaitHangsOnWhatOtherCodeTakes(t *testing.T) {
	t.Parallel()
	for name, want := range looks() {
		for by, taker := range takers() {
			t.Run(name+"/"+by, func(t *testing.T) {
				t.Parallel()
				enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
					want := want
					want.check(e, taker)
				})
			})
		}
	}
}

// check starts an instance whose event and whose messages for handlers are there when the code begins.
func (w *ending) check(e *enginetest.Engine, taker func(ctx *octx, take func() error)) {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
		box, taken, order := orchestration.Events[int](ctx, "box"), 0, ""
		taker(ctx, func() error {
			n, ok, err := box.TryReceive()
			if ok {
				taken += n
			}
			order += "taken "
			return err
		})
		began := ctx.Now()
		got, err := w.call(ctx, box)
		order += got
		return fmt.Sprintf("%d %s after %v", taken, order, ctx.Now().Sub(began).Round(time.Second)), err
	})
	e.Start(reg)
	ctx := e.T.Context()
	h, err := client.StartNamed[string](ctx, e.Client(client.Options{}), "main", none{}, client.WithDelay(time.Minute),
		client.WithEvent("nudge", none{}), client.WithEvent("box", 7))
	if err != nil {
		e.T.Fatal(err)
	}
	if _, err := client.SendUpdate[none](ctx, h, "ask", none{}); err != nil {
		e.T.Fatal(err)
	}
	e.WaitEnded(h.Key())
	if got, err := h.Wait(ctx); err != nil || got != fmt.Sprintf("7 taken %s after %v", w.got, w.took) {
		e.T.Errorf("it ends with %q, %v, want %q after %v", got, err, w.got, w.took)
	}
	enginetest.Replays(e, h)
}

// Of two coroutines that wait for one event, one gets it. The other was woken, too, and waits on to its limit.
func TestNoWaitHangsOnWhatAnotherCoroutineTakes(t *testing.T) {
	t.Parallel()
	for name, want := range looks() {
		if want.took == 0 {
			continue // it does not wait
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				h := start(e, registry(e.T), func(ctx *octx, _ none) (string, error) {
					box := orchestration.Events[int](ctx, "box")
					first := ctx.Go(func(ctx *octx) error {
						_, err := box.Receive(ctx)
						return err
					})
					began, got := ctx.Now(), ""
					second := ctx.Go(func(ctx *octx) (err error) {
						got, err = want.call(ctx, box)
						return err
					})
					_, err := orchestration.All(ctx, first, second)
					return fmt.Sprintf("%s after %v", got, ctx.Now().Sub(began).Round(time.Second)), err
				}, none{})
				e.Raise(h, "box", 1)
				if got := enginetest.Output[string](e, h); got != fmt.Sprintf("%s after %v", want.got, want.took) {
					e.T.Errorf("it ends with %q, want %q after %v", got, want.got, want.took)
				}
			})
		})
	}
}

// AwaitHandlers waits for handlers that have not begun, and then for what they wait for.
func TestAwaitHandlersWaitsForFreshRuns(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			done := false
			orchestration.HandleEvent(ctx, "nudge", func(ctx *octx, _ none) error {
				err := ctx.Sleep(time.Hour)
				done = true
				return err
			})
			began := ctx.Now()
			err := ctx.AwaitHandlers()
			return fmt.Sprint(done, " after ", ctx.Now().Sub(began).Round(time.Second)), err
		})
		e.Start(reg)
		h, err := client.StartNamed[string](e.T.Context(), e.Client(client.Options{}), "main", none{}, client.WithEvent("nudge", none{}))
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(e.T.Context()); err != nil || got != "true after 1h0m0s" {
			e.T.Errorf("it ends with %q, %v", got, err)
		}
	})
}
