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

// tally is a counter over several executions. Its handlers call an activity between their beginning and their change.
type tally struct {
	Round int
	Items []int
}

// ledger returns the code of a counter that rolls over on the event "roll", and ends on the event "stop".
func ledger(roll func(ctx *octx, t *tally) error, opts ...orchestration.UpdateOption) func(ctx *octx, t tally) ([]int, error) {
	return func(ctx *octx, t tally) ([]int, error) {
		add := func(ctx *octx, k int) (int, error) {
			if t.Round == 0 {
				if _, err := orchestration.CallActivityNamed[none](ctx, "gate", none{}); err != nil {
					return 0, err
				}
			}
			t.Items = append(t.Items, k)
			return len(t.Items), nil
		}
		orchestration.HandleUpdate(ctx, "add", add, opts...)
		orchestration.HandleEvent(ctx, "put", func(ctx *octx, k int) error {
			_, err := add(ctx, k)
			return err
		})
		orchestration.HandleQuery(ctx, "items", func(none) ([]int, error) { return slices.Clone(t.Items), nil })
		rolls := orchestration.Events[none](ctx, "roll")
		for {
			which, err := orchestration.Select(ctx, rolls, orchestration.Events[none](ctx, "stop"))
			if err != nil || which == 1 {
				return t.Items, err
			}
			_, _ = rolls.Receive(ctx)
			if err = roll(ctx, &t); err != nil {
				return nil, err
			}
		}
	}
}

// plain continues as new at once.
func plain(ctx *octx, t *tally) error {
	return orchestration.ContinueAsNew(ctx, tally{t.Round + 1, t.Items})
}

// late continues as new when the handlers have ended.
func late(ctx *octx, t *tally) error {
	return orchestration.ContinueAsNewAfterHandlers(ctx, func() tally { return tally{t.Round + 1, t.Items} })
}

// startLedger starts a counter on a node. The activities of its handlers end when the gate is closed.
func startLedger(e *enginetest.Engine, code func(ctx *octx, t tally) ([]int, error)) (rt *runtime.Runtime, h client.Handle[[]int], gate chan none) {
	e.T.Helper()
	reg := registry(e.T)
	gate = make(chan none)
	enginetest.Orchestration(e.T, reg, "ledger", code)
	enginetest.Activity(e.T, reg, "gate", gated(gate))
	rt = e.Start(reg)
	h, err := client.StartNamed[[]int](e.T.Context(), e.Client(client.Options{}), "ledger", tally{})
	if err != nil {
		e.T.Fatal(err)
	}
	return rt, h, gate
}

// gated returns an activity that ends when the gate is closed.
func gated(gate <-chan none) func(ctx context.Context, _ none) (none, error) {
	return func(ctx context.Context, _ none) (none, error) {
		select {
		case <-gate:
			return none{}, nil
		case <-ctx.Done():
			return none{}, ctx.Err()
		}
	}
}

// askAdd sends an update with an ID, and waits until it is accepted.
func askAdd(e *enginetest.Engine, h client.Handle[[]int], k int) client.UpdateHandle[int] {
	e.T.Helper()
	u := sendAdd(e, h, k)
	if _, err := u.Wait(e.T.Context(), client.UntilAccepted()); err != nil {
		e.T.Fatal(err)
	}
	return u
}

func sendAdd(e *enginetest.Engine, h client.Handle[[]int], k int) client.UpdateHandle[int] {
	e.T.Helper()
	u, err := client.SendUpdate[int](e.T.Context(), h, "add", k, client.WithUpdateID(fmt.Sprint("u-", k)))
	if err != nil {
		e.T.Fatal(err)
	}
	return u
}

// raise raises an event, and waits until the first execution has received it.
func raise(e *enginetest.Engine, h client.Handle[[]int], name string, k any) {
	e.T.Helper()
	count := func() (n int) {
		for _, event := range e.History(h.Key(), 1) {
			if got, ok := event.Body.(*history.EventReceived); ok && got.Name == name {
				n++
			}
		}
		return n
	}
	before := count()
	e.Raise(h.Key(), name, k)
	e.Until("the event is received", func() bool { return count() > before })
}

// stopLedger ends a counter, and compares what it has, sorted.
func stopLedger(e *enginetest.Engine, h client.Handle[[]int], want ...int) {
	e.T.Helper()
	e.Raise(h.Key(), "stop", none{})
	got, err := h.Wait(e.T.Context())
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		e.T.Errorf("the counter ends with %v, %v, want %v", got, err, want)
	}
	enginetest.Replays(e, h)
}

// The next execution has what running handlers do. It gets what comes meanwhile, too: events, updates, and Serial updates that
// wait for their turn. All is done once.
func TestHazard114_TheNextExecutionHasWhatHandlersDid(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		rt, h, gate := startLedger(e, ledger(late, orchestration.Serial()))
		updates := []client.UpdateHandle[int]{askAdd(e, h, 1), askAdd(e, h, 2)} // the second waits for its turn
		raise(e, h, "put", 3)
		raise(e, h, "roll", none{})
		updates = append(updates, sendAdd(e, h, 4)) // the door is shut
		handled(e, h.Key(), history.KindUpdateReceived, 3)
		raise(e, h, "put", 5)
		if got := stored(e, h.Key(), "u-4").Outcome; got != history.UpdatePending {
			e.T.Errorf("an update behind the door has the stage %d", got)
		}
		close(gate)
		for i, u := range updates {
			if n, err := outcomeOf(e, u); err != nil || n == 0 {
				e.T.Errorf("update %d: %d, %v", i+1, n, err)
			}
		}
		n, err := outcomeOf(e, updates[1])
		if again, errAgain := client.Update[int](e.T.Context(), h, "add", 2, client.WithUpdateID("u-2")); again != n || errAgain != nil {
			e.T.Errorf("the repeat of a carried update: %d, %v, and first %d, %v", again, errAgain, n, err)
		}
		e.Until("the next execution has the event", func() bool { return strings.Contains(kinds(e.History(h.Key(), 2)), "EventReceived") })
		stopLedger(e, h, 1, 2, 3, 4, 5)
		if s := rt.Stats(); s.HandlersLate != 0 || s.EventHandlersFailed != 0 || s.TurnsFailed != 0 {
			e.T.Errorf("late %d, failed %d, turns failed %d", s.HandlersLate, s.EventHandlersFailed, s.TurnsFailed)
		}
		if got := kinds(e.History(h.Key(), 1)); strings.Contains(got, "MainReturned") || !strings.HasSuffix(got, "TimerCancelled ContinuedAsNew") {
			e.T.Errorf("history %s", got)
		}
		if level := e.Get(h.Key()).EngineLevel; level > replay.LevelOfLanguage {
			e.T.Errorf("level %d", level)
		}
	})
}

// A query after an event that the next execution handles shows what that has led to. It waits while the execution that kept the event goes on.
func TestHazard77_QueryAfterAnEventWaitsForTheNextExecution(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(ctx *octx, t *tally) error{"plain": plain, "late": late} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				_, h, gate := startLedger(e, ledger(form))
				u := askAdd(e, h, 1) // holds the end of the execution
				raise(e, h, "roll", none{})
				if err := h.Raise(e.T.Context(), "put", 2, client.WithRequestID("put-2")); err != nil {
					e.T.Fatal(err)
				}
				e.Until("the event is received", func() bool { return strings.Count(kinds(e.History(h.Key(), 1)), "EventReceived") == 2 })
				brief, cancel := context.WithTimeout(e.T.Context(), 200*time.Millisecond)
				defer cancel()
				if got, err := client.Query[[]int](brief, h, "items", none{}, client.After("put-2")); !errors.Is(err, client.ErrUnserved) {
					e.T.Errorf("the first execution answers %v, %v", got, err)
				}
				close(gate)
				got, err := client.Query[[]int](e.T.Context(), h, "items", none{}, client.After("put-2"))
				if err != nil || !slices.Contains(got, 2) {
					e.T.Errorf("a query after the event: %v, %v", got, err)
				}
				_, _ = outcomeOf(e, u)
			})
		})
	}
}

// An event that waits for a handler is not given to the code any more when the instance is terminated. A query after it says so.
func TestHazard77_QueryAfterAnEventThatNoHandlerGot(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		_, h, _ := startLedger(e, ledger(late))
		askAdd(e, h, 1)
		raise(e, h, "roll", none{})
		if err := h.Raise(e.T.Context(), "put", 2, client.WithRequestID("put-2")); err != nil {
			e.T.Fatal(err)
		}
		e.Until("the event is received", func() bool { return strings.Count(kinds(e.History(h.Key(), 1)), "EventReceived") == 2 })
		if err := h.Terminate(e.T.Context(), "enough"); err != nil {
			e.T.Fatal(err)
		}
		if got, err := client.Query[[]int](e.T.Context(), h, "items", none{}, client.After("put-2")); !errors.Is(err, client.ErrEnded) {
			e.T.Errorf("a query after an event that no handler got: %v, %v", got, err)
		}
	})
}

// The function may wait between making the input and its return, as a deferred function does. What handlers do meanwhile is not in the input.
func TestHazard124_ThePlainFormTellsCallersBeforeTheReturn(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		rt, h, gate := startLedger(e, ledger(func(ctx *octx, t *tally) error {
			defer func() { _, _ = orchestration.Events[none](ctx, "return").Receive(ctx) }()
			return plain(ctx, t)
		}))
		u := askAdd(e, h, 1)
		raise(e, h, "roll", none{})
		close(gate)
		if n, err := outcomeOf(e, u); n != 1 || !errors.Is(err, client.ErrNotCarried) {
			e.T.Errorf("the update: %d, %v, want its output and that it is not carried", n, err)
		}
		e.Raise(h.Key(), "return", none{})
		stopLedger(e, h)
		e.Until("one handler is counted as late", func() bool { return rt.Stats().HandlersLate == 1 }) // after the commit
	})
}

// The caller of a handler that was under way beside the plain form gets the output, and is told that the next execution lacks its changes. A
// repeat gets the same, and so does another process.
func TestHazard124_ThePlainFormTellsCallers(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		rt, h, gate := startLedger(e, ledger(plain))
		updates := []client.UpdateHandle[int]{askAdd(e, h, 1), askAdd(e, h, 2)}
		raise(e, h, "put", 3)
		e.Raise(h.Key(), "roll", none{})
		handled(e, h.Key(), history.KindMainReturned, 1)
		close(gate)
		for i, u := range updates {
			n, err := outcomeOf(e, u)
			if n == 0 || !errors.Is(err, client.ErrNotCarried) {
				e.T.Errorf("update %d: %d, %v", i+1, n, err)
			}
			for _, other := range []error{client.ErrRejected, client.ErrUnknownUpdate, client.ErrPanicked, client.ErrClosing, client.ErrEnded, client.ErrUpdateFailed} {
				if errors.Is(err, other) {
					e.T.Errorf("it is also: %v", other)
				}
			}
			again, errAgain := client.Update[int](e.T.Context(), h, "add", i+1, client.WithUpdateID(u.ID()))
			if again != n || !errors.Is(errAgain, client.ErrNotCarried) {
				e.T.Errorf("its repeat: %d, %v", again, errAgain)
			}
		}
		e.Until("it continues", func() bool { return e.Get(h.Key()).Execution == 2 })
		e.Until("three are counted", func() bool { return rt.Stats().HandlersLate == 3 })
		stopLedger(e, h)
	})
}

// Handlers that do not end are cancelled when their grace is over, and left behind a minute later. Updates that wait for their turn are
// carried even then.
func TestHazard114_TheGraceEndsTheWait(t *testing.T) {
	t.Parallel()
	for _, stubborn := range []bool{false, true} {
		enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
			reg := registry(e.T)
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, round int) (int, error) {
				ctx.SetHandlerGrace(time.Hour)
				orchestration.HandleUpdate(ctx, "add", func(ctx *octx, _ int) (int, error) {
					if round > 0 {
						return round, nil
					}
					err := ctx.Sleep(24 * time.Hour)
					if stubborn {
						return 0, errors.Join(err, ctx.Detached().Sleep(24*time.Hour))
					}
					return 0, err
				}, orchestration.Serial())
				if _, err := orchestration.Events[none](ctx, "roll").Receive(ctx); err != nil || round > 0 {
					return round, err
				}
				return 0, orchestration.ContinueAsNewAfterHandlers(ctx, func() int { return round + 1 })
			})
			e.Start(reg)
			h, err := client.StartNamed[[]int](e.T.Context(), e.Client(client.Options{}), "main", 0)
			if err != nil {
				e.T.Fatal(err)
			}
			first, second := askAdd(e, h, 1), askAdd(e, h, 2)
			began := time.Now()
			raise(e, h, "roll", none{})
			_, err = first.Wait(e.T.Context())
			took := time.Since(began).Round(time.Second)
			switch {
			case stubborn && (!errors.Is(err, client.ErrAbandoned) || took != time.Hour+time.Minute):
				e.T.Errorf("a stubborn handler after %v: %v", took, err)
			case !stubborn && (!errors.Is(err, orchestration.ErrCancelled) || took != time.Hour):
				e.T.Errorf("a handler after %v: %v", took, err)
			}
			if n, err := second.Wait(e.T.Context()); n != 1 || err != nil {
				e.T.Errorf("the one that waited: %d, %v", n, err)
			}
			e.Raise(h.Key(), "roll", none{})
			if got := enginetest.Output[int](e, h.Key()); got != 1 {
				e.T.Errorf("got %d", got)
			}
		})
	}
}

// Errors of the input go to the function, which goes on with its handlers: what was kept begins.
func TestHazard114_ErrorsGoToTheFunction(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		seen := enginetest.Notes[string]{}
		_, h, gate := startLedger(e, ledger(func(ctx *octx, t *tally) error {
			if len(t.Items) > 2 {
				return late(ctx, t)
			}
			err := orchestration.ContinueAsNewAfterHandlers(ctx, func() string { return strings.Repeat("x", 3<<20) })
			if !errors.Is(err, orchestration.ErrTooLarge) {
				return fmt.Errorf("too large an input: %w", err)
			}
			err = orchestration.ContinueAsNewAfterHandlers(ctx, func() any { return func() {} })
			if !errors.Is(err, orchestration.ErrPayload) {
				return fmt.Errorf("an input that is none: %w", err)
			}
			seen.Add("refused")
			return nil
		}, orchestration.Serial()))
		updates := []client.UpdateHandle[int]{askAdd(e, h, 1), askAdd(e, h, 2)}
		raise(e, h, "roll", none{})
		updates = append(updates, sendAdd(e, h, 3))
		handled(e, h.Key(), history.KindUpdateReceived, 3)
		raise(e, h, "put", 4)
		close(gate)
		for i, u := range updates {
			if n, err := outcomeOf(e, u); err != nil || n == 0 {
				e.T.Errorf("update %d: %d, %v", i+1, n, err)
			}
		}
		if len(seen.All()) == 0 {
			e.T.Error("nothing was refused")
		}
		e.Raise(h.Key(), "roll", none{})
		e.Until("it continues", func() bool { return e.Get(h.Key()).Execution == 2 })
		stopLedger(e, h, 1, 2, 3, 4)
	})
}

// A panic of the input fails the turn. Mended code goes on.
func TestAPanicOfTheNextInputFailsTheTurn(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		broken := true
		code := ledger(func(ctx *octx, t *tally) error {
			return orchestration.ContinueAsNewAfterHandlers(ctx, func() tally {
				if broken {
					panic("no input")
				}
				return tally{t.Round + 1, t.Items}
			})
		})
		rt, h, gate := startLedger(e, code)
		close(gate)
		if n, err := outcomeOf(e, askAdd(e, h, 1)); n != 1 || err != nil {
			e.T.Fatal(n, err)
		}
		e.Raise(h.Key(), "roll", none{})
		if i := e.WaitBlocked(h.Key(), 1); i.Blocked.Reason != "panic" || !strings.Contains(i.Blocked.Message, "no input") {
			e.T.Errorf("blocked: %+v", i.Blocked)
		}
		e.Stop(rt)
		broken = false
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "ledger", code)
		e.Start(reg)
		e.Until("it continues", func() bool { return e.Get(h.Key()).Execution == 2 })
		stopLedger(e, h, 1)
	})
}

// A cancellation ends the wait. The instance ends as cancelled, when its handlers have.
func TestHazard114_ACancellationEndsTheWait(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		_, h, _ := startLedger(e, ledger(late))
		u := askAdd(e, h, 1)
		raise(e, h, "roll", none{})
		e.Cancel(h.Key(), "test")
		if _, err := outcomeOf(e, u); !errors.Is(err, client.ErrUpdateFailed) || !errors.Is(err, orchestration.ErrCancelled) {
			e.T.Errorf("the update: %v", err)
		}
		if i := e.WaitEnded(h.Key()); i.Status != provider.StatusCancelled || i.Execution != 1 {
			e.T.Errorf("%v in execution %d", i.Status, i.Execution)
		}
	})
}

// AwaitHandlers waits for those that run and those that wait for their turn, not for those that are abandoned.
func TestAwaitHandlers(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		_, h, gate := startLedger(e, ledger(func(ctx *octx, t *tally) error {
			orchestration.HandleEvent(ctx, "for ever", func(ctx *octx, _ none) error {
				_, err := orchestration.Events[none](ctx, "never").Receive(ctx)
				return err
			}, orchestration.AbandonAtEnd())
			err := ctx.AwaitHandlers()
			t.Items = append(t.Items, 100*len(t.Items))
			return err
		}, orchestration.Serial()))
		e.Raise(h.Key(), "for ever", none{})
		updates := []client.UpdateHandle[int]{askAdd(e, h, 1), askAdd(e, h, 2)}
		raise(e, h, "put", 3)
		raise(e, h, "roll", none{})
		close(gate)
		for i, u := range updates {
			if n, err := outcomeOf(e, u); err != nil || n == 0 {
				e.T.Errorf("update %d: %d, %v", i+1, n, err)
			}
		}
		stopLedger(e, h, 1, 2, 3, 300)
	})
}

// Handlers cannot continue as new, and cannot wait for themselves. Their callers are told so in words that help.
func TestHandlersDoNotContinueAsNew(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(main *octx, n int) (string, error) {
			var side error
			ready := orchestration.ContinueAsNew(main, 1)
			for name, fn := range map[string]func(ctx *octx) error{
				"plain": func(ctx *octx) error { return orchestration.ContinueAsNew(ctx, 1) },
				"outer": func(*octx) error { return orchestration.ContinueAsNew(main, 1) },
				"late":  func(ctx *octx) error { return orchestration.ContinueAsNewAfterHandlers(ctx, func() int { return 1 }) },
				"await": func(ctx *octx) error { return ctx.AwaitHandlers() },
				"ready": func(*octx) error { return fmt.Errorf("wrapped: %w", ready) },
			} {
				orchestration.HandleUpdate(main, name, func(ctx *octx, _ none) (none, error) { return none{}, fn(ctx) })
			}
			orchestration.HandleEvent(main, "event", func(*octx, none) error { return ready })
			_, side = orchestration.SideEffect(main, func() (none, error) { return none{}, ready })
			if !errors.Is(side, orchestration.ErrInvalid) {
				return "", side
			}
			_, err := orchestration.Events[none](main, "stop").Receive(main)
			return fmt.Sprint(n), err
		})
		rt := e.Start(reg)
		h, err := client.StartNamed[string](e.T.Context(), e.Client(client.Options{}), "main", 0)
		if err != nil {
			e.T.Fatal(err)
		}
		for _, name := range []string{"plain", "outer", "late", "await", "ready"} {
			_, err := client.Update[none](e.T.Context(), h, name, none{})
			if !errors.Is(err, client.ErrUpdateFailed) || !errors.Is(err, orchestration.ErrInvalid) || !strings.Contains(err.Error(), "function of the orchestration") &&
				!strings.Contains(err.Error(), "from that function") {
				e.T.Errorf("%s: %v", name, err)
			}
		}
		e.Raise(h.Key(), "event", none{})
		e.Raise(h.Key(), "stop", none{})
		if got, err := h.Wait(e.T.Context()); got != "0" || err != nil {
			e.T.Errorf("got %q, %v", got, err)
		}
		e.Until("the handler of the event is counted as failed", func() bool { return rt.Stats().EventHandlersFailed == 1 }) // after the commit
		enginetest.Replays(e, h)
	})
}
