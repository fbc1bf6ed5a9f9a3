package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// TestHazard84_RefusalsAreTyped: events and cancel requests of code reach instances by ID and by key. Code is told of each, and why one
// did not arrive.
func TestHazard84_RefusalsAreTyped(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "collect", collect)
		enginetest.Orchestration(e.T, reg, "Alone", Alone)
		sum, sleeper, over := e.Create("sum", "collect", none{}), e.Create("sleeper", "Alone", ""), e.Create("over", "Alone", "")
		e.Terminate(over, "test")
		key := start(e, reg, func(ctx *octx, of orchestration.Instance) (none, error) {
			for _, n := range []int{4, 2, 0} {
				if _, err := orchestration.Raise(ctx, "sum", "item", n).Get(ctx); err != nil {
					return none{}, err
				}
			}
			ok := orchestration.All[none]
			_, err := ok(ctx, of.Cancel(ctx, "too late"), of.Raise(ctx, "go", ""))
			for _, to := range []struct {
				id   string
				want error
			}{{"over", orchestration.ErrEnded}, {"nobody", orchestration.ErrNotFound}} {
				for i, f := range []orchestration.Future[none]{orchestration.Raise(ctx, to.id, "go", ""), orchestration.CancelInstance(ctx, to.id, "")} {
					if _, got := f.Get(ctx); !errors.Is(got, to.want) {
						err = errors.Join(err, fmt.Errorf("message %d to %s: %w", i, to.id, got))
					}
				}
			}
			none := orchestration.Instance{Key: ctx.NewUUID().String()}
			if _, got := none.Raise(ctx, "go", "").Get(ctx); !errors.Is(got, orchestration.ErrNotFound) {
				err = errors.Join(err, fmt.Errorf("event to an unknown key: %w", got))
			}
			return struct{}{}, err
		}, orchestration.Instance{ID: "another name", Key: sleeper.String()})
		enginetest.Output[none](e, key)
		if got := enginetest.Output[int](e, sum); got != 42 {
			e.T.Errorf("the sum is %d", got)
		}
		in := e.WaitEnded(sleeper)
		if reason := events(e, client.HandleOf[string](e.Client(client.Options{}), "sleeper", sleeper)); in.Status != provider.StatusCancelled || !asked(reason, "too late") {
			e.T.Errorf("it is %v after %d events", in.Status, len(reason))
		}
	})
}

// asked reports whether a history has a cancel request with a reason.
func asked(all []history.Event, reason string) bool {
	for _, e := range all {
		if b, ok := e.Body.(*history.CancelRequested); ok && b.Reason == reason {
			return true
		}
	}
	return false
}

// TestHazard84_SendsObeyInboxLimits: a loop of code cannot fill the inbox of another instance beyond the limit of outside senders.
func TestHazard84_SendsObeyInboxLimits(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const size = 2 << 20
		big := strings.Repeat("x", size-2)     // and the quotes of JSON
		to := e.Create("to", "nobody", none{}) // no node takes its messages
		for range provider.MaxInboxBytes/size - 1 {
			e.Raise(to, "go", big)
		}
		key := start(e, registry(e.T), func(ctx *octx, _ none) (int, error) {
			for n := 0; ; n++ {
				_, err := orchestration.Raise(ctx, "to", "go", big[:size/4]).Get(ctx)
				if errors.Is(err, orchestration.ErrInboxFull) {
					return n, nil
				}
				if err != nil || n > 10 {
					return n, err
				}
			}
		}, none{})
		if n := enginetest.Output[int](e, key); n < 1 || n > 4 || e.Get(to).InboxMessages > provider.MaxInboxBytes/size+4 {
			e.T.Errorf("code sent %d events, and %d messages wait", n, e.Get(to).InboxMessages)
		}
	})
}

// TestHazard33_RepliesAreEvents: on replay code sees the same replies, also those to what it has given up.
func TestHazard33_RepliesAreEvents(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		key := start(e, reg, func(ctx *octx, _ none) (bool, error) {
			given := orchestration.Raise(ctx, "nobody", "go", 1)
			given.Cancel()
			_, err := given.Get(ctx)
			_, other := orchestration.Raise(ctx, "nobody", "go", 2).Get(ctx)
			if err := ctx.Sleep(time.Millisecond); err != nil {
				return false, err
			}
			return errors.Is(err, orchestration.ErrCancelled) && errors.Is(other, orchestration.ErrNotFound), nil
		}, none{})
		if !enginetest.Output[bool](e, key) {
			e.T.Error("other errors than expected")
		}
		replies := 0
		for _, event := range e.History(key, 1) {
			if event.Body.Kind() == history.KindReplyReceived {
				replies++
			}
		}
		if replies != 2 {
			e.T.Errorf("%d replies in the history, want 2", replies)
		}
	})
}

// reaching starts and sends, waits, and takes the replies one after the other.
func reaching(ctx *octx, run string) (string, error) {
	start := orchestration.StartDetachedNamed(ctx, "collect", none{}, orchestration.WithInstanceID(run), orchestration.WithRequestID("r"))
	gone := orchestration.Raise(ctx, "nobody", "item", 1)
	drop := orchestration.CancelInstance(ctx, "nobody", "")
	drop.Cancel()
	words, err := orchestration.Events[string](ctx, "go").Receive(ctx)
	if err != nil {
		return "", err
	}
	add := func(err error) {
		for word, is := range map[string]error{
			" gone": orchestration.ErrNotFound, " forked": orchestration.ErrForked, " unknown": orchestration.ErrOutcomeUnknown, " cancelled": orchestration.ErrCancelled,
		} {
			if errors.Is(err, is) {
				words += word
			}
		}
	}
	in, err := start.Get(ctx)
	add(err)
	_, err = gone.Get(ctx)
	add(err)
	_, err = drop.Get(ctx)
	add(err)
	_, err = orchestration.Instance{ID: run, Key: in.Key}.Raise(ctx, "item", 1).Get(ctx)
	add(err)
	return words, nil
}

// TestHazard57_ResetWithRepliesPending: a reset at every event of a history with starts and sends ends as the run that was never reset. A fork
// is told that what is pending belongs to its origin.
func TestHazard57_ResetWithRepliesPending(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "reaching", reaching)
		enginetest.Orchestration(e.T, reg, "collect", collect)
		e.Start(reg)
		c := e.Client(client.Options{})
		const want = "on gone cancelled"
		points := 0
		for at := int64(1); ; at++ {
			h := startOf[string](e, c, "reaching", fmt.Sprint("reaching-", at), fmt.Sprint("run-", at))
			handled(e, h.Key(), history.KindReplyReceived, 3)
			e.Raise(h.Key(), "go", "on")
			if got, err := soon(e, h); got != want || err != nil {
				e.T.Fatalf("%q, %v", got, err)
			}
			all := events(e, h)
			if at > int64(len(all)) {
				break
			}
			if !all[at-1].Body.Kind().IsMessage() {
				continue
			}
			points++
			f, err := client.Fork(e.T.Context(), h, at, h.ID()+"-fork")
			if err != nil {
				e.T.Fatal(err)
			}
			if err := f.Raise(e.T.Context(), "go", "on"); err != nil && !errors.Is(err, client.ErrEnded) { // it gets nothing that its origin got later
				e.T.Fatal(err)
			}
			if got, err := soon(e, f); err != nil || !strings.HasPrefix(got, "on") || at > 1 && !strings.Contains(got, "cancelled") {
				e.T.Errorf("the fork at event %d: %q, %v", at, got, err)
			}
			for range 2 {
				reset(e, h, min(at, e.Get(h.Key()).HistoryLength))
				if got, err := soon(e, h); got != want || err != nil {
					e.T.Fatalf("after a reset to event %d: %q, %v", at, got, err)
				}
			}
			enginetest.Replays(e, h)
		}
		if points < 6 {
			e.T.Errorf("%d points only", points)
		}
	})
}

// A reset while the reply waits in the inbox: the new execution gets it. After an end that has taken the reply along, code is told that
// the outcome is not known, unless the store knows it.
func TestResetBeforeTheReply(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "reaching", reaching)
		enginetest.Orchestration(e.T, reg, "collect", collect)
		c := e.Client(client.Options{})
		rt := e.Start(reg)
		for _, terminate := range []bool{false, true} {
			h := startOf[string](e, c, "reaching", fmt.Sprint("held-", terminate), fmt.Sprint("run-", terminate))
			e.Until("it has begun", func() bool { return e.Get(h.Key()).HistoryLength >= 4 })
			at := int64(5)
			if e.Get(h.Key()).HistoryLength > 5 { // the replies are there: go back behind the commands
				reset(e, h, at)
			}
			if terminate {
				e.Terminate(h.Key(), "test")
				reset(e, h, at)
			}
			e.Raise(h.Key(), "go", "on")
			if got, err := ended(e, h); err != nil || !strings.HasPrefix(got, "on ") {
				e.T.Errorf("%q, %v", got, err)
			}
		}
		e.Stop(rt)
	})
}

// TestReservedNames: code of users cannot start, reach or cancel what belongs to perdure itself.
func TestReachRefusesReservedNames(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		key := start(e, reg, func(ctx *octx, _ none) (int, error) {
			refused := 0
			for _, err := range []error{
				errorOf(ctx, orchestration.StartDetachedNamed(ctx, "perdure.schedule", none{})),
				errorOf(ctx, orchestration.StartDetachedNamed(ctx, "mine", none{}, orchestration.WithInstanceID("perdure/schedule/a"))),
				errorOf(ctx, orchestration.Raise(ctx, "perdure/schedule/a", "go", 1)),
				errorOf(ctx, orchestration.CancelInstance(ctx, "perdure/schedule/a", "")),
			} {
				if errors.Is(err, orchestration.ErrInvalid) {
					refused++
				}
			}
			return refused, nil
		}, none{})
		if got := enginetest.Output[int](e, key); got != 4 {
			e.T.Errorf("%d refusals, want 4", got)
		}
		enginetest.Orchestration(e.T, reg, "parent", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallOrchestrationNamed[none](ctx, "perdure.schedule", none{})
		})
	})
}

// A request ID of the runs of schedules would make the instance seem to be one. The turn fails, so that no history holds the refusal.
func TestDetachedRefusesRequestIDsOfSchedules(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			return none{}, errorOf(ctx, orchestration.StartDetachedNamed(ctx, "mine", none{}, orchestration.WithInstanceID("mine"),
				orchestration.WithRequestID("perdure/schedule/key/2026-01-01T00:00:00Z")))
		}, none{})
		if why := e.WaitBlocked(key, 1).Blocked.Message; !strings.Contains(why, "request IDs that begin with perdure/ belong to perdure itself") {
			e.T.Error(why)
		}
	})
}

func errorOf[T any](ctx *octx, f orchestration.Future[T]) error {
	_, err := f.Get(ctx)
	return err
}

// TestHazard80_ReachHasItsLevel: only instances that reach others, and those whose end is told, are left to nodes that know of it.
func TestHazard80_ReachHasItsLevel(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "Alone", Alone)
		// On a store that allows later levels, all that begins needs one of those.
		if _, _, err := upgrade.Finish(e.T.Context(), provider.FullOf(e.Store), replay.LevelOfAnchors, false); err != nil {
			e.T.Fatal(err)
		}
		key := e.CreateWith("main", "main", none{}, replay.SettingsAt(replay.LevelOfAnchors))
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			_, err := orchestration.StartDetachedNamed(ctx, "Alone", "", orchestration.WithInstanceID("plain")).Get(ctx)
			_, err2 := orchestration.StartDetachedNamed(ctx, "Alone", "", orchestration.WithInstanceID("told"), orchestration.TellEnd("over")).Get(ctx)
			_, err3 := orchestration.Raise(ctx, "plain", "other", "").Get(ctx)
			return none{}, errors.Join(err, err2, err3)
		})
		e.Start(reg)
		enginetest.Output[none](e, key)
		for id, want := range map[string]bool{"main": true, "told": true, "plain": false} {
			if got := byID(e, id).EngineLevel; (got >= replay.LevelOfReach) != want {
				e.T.Errorf("%s has level %d", id, got)
			}
		}
	})
}
