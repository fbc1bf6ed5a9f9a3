package dispatcher_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// draining adds an orchestration that waits for an event, takes all that is in its mailbox and returns how many that were.
func draining(e *enginetest.Engine) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "drain", func(ctx *octx, _ none) (n int, err error) {
		box := orchestration.Events[int](ctx, "box")
		if _, err := box.Receive(ctx); err != nil {
			return 0, err
		}
		n, err = takeAll(box)
		return n + 1, err
	})
	return reg
}

// takeAll takes what is in a mailbox, and returns how many events that were.
func takeAll(box orchestration.Mailbox[int]) (n int, err error) {
	for {
		if _, ok, err := box.TryReceive(); !ok || err != nil {
			return n, err
		}
		n++
	}
}

// drained checks that the code saw all events, and that none was left. Code runs after a message only.
func drained(e *enginetest.Engine, rt *runtime.Runtime, key provider.UUID, sent int) {
	e.T.Helper()
	if got := enginetest.Output[int](e, key); got != sent {
		e.T.Errorf("the code took %d of %d events", got, sent)
	}
	if s := rt.Stats(); s.EventsBuried != 0 || s.EventsUnread != 0 || len(deadLetters(e)) != 0 {
		e.T.Errorf("%d buried, %d unread, %d dead letters", s.EventsBuried, s.EventsUnread, len(deadLetters(e)))
	}
	enginetest.Replays(e, client.HandleOf[int](e.Client(client.Options{}), e.Get(key).ID, key))
	stored := e.History(key, 1)
	for i := range stored[1:] {
		if stored[i].More && !stored[i+1].Body.Kind().IsMessage() {
			e.T.Errorf("event %d says that more messages follow, and %v does", stored[i].ID, stored[i+1].Body.Kind())
		}
	}
}

// Code that drains its mailbox and returns has taken each event that was accepted before its first turn.
func TestDrainedMailboxHasWhatCameBeforeTheFirstTurn(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const sent = 5
		reg := draining(e)
		key := e.Create("drain", "drain", none{})
		for n := range sent {
			e.Raise(key, "box", n)
		}
		rt := e.Start(reg)
		drained(e, rt, key, sent)
		want := []bool{true, true, true, true, true, false, false}
		var more []bool
		for _, event := range e.History(key, 1) {
			more = append(more, event.More)
		}
		if diff := cmp.Diff(want, more); diff != "" {
			e.T.Errorf("after which messages more follow: %s", diff)
		}
	})
}

// The same holds for events that come after the fetch of the turn in which the code returns.
func TestDrainedMailboxHasWhatCameBeforeTheCommit(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		closing, sent := make(chan struct{}, 100), make(chan struct{})
		plan.Add(faulty.Rule{
			Ops: []faulty.Op{faulty.CommitTurn}, Kind: faulty.Delay, Until: sent,
			Match: func(req any) bool {
				ends := req.(provider.CommitTurnRequest).Status.Ended()
				if ends {
					closing <- struct{}{}
				}
				return ends
			},
		})
		rt := e.StartOn(node, draining(e), e.Options)
		key := e.Create("drain", "drain", none{})
		e.Raise(key, "box", 0)
		<-closing
		for n := range 3 {
			e.Raise(key, "box", n)
		}
		close(sent)
		drained(e, rt, key, 4)
	})
}

// The same holds if the events are more than one fetch brings.
func TestDrainedMailboxHasMoreThanOneFetch(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		const sent = 2_500
		reg := draining(e)
		key := e.Create("drain", "drain", none{})
		for n := range sent {
			e.Raise(key, "box", n)
		}
		rt := e.Start(reg)
		drained(e, rt, key, sent)
	})
}

// An instance that an older release started runs on after each message. Its next execution has the behaviours of this release.
func TestNextExecutionRunsTogether(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const sent = 5
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "again", func(ctx *octx, n int) (int, error) {
			box := orchestration.Events[int](ctx, "box")
			if _, err := box.Receive(ctx); err != nil {
				return 0, err
			}
			if n == 0 {
				return 0, orchestration.ContinueAsNew(ctx, 1)
			}
			return takeAll(box)
		})
		e.Stop(e.Start(reg)) // the first node on an empty store allows the newest level
		key := e.CreateOneByOne("again", "again", 0)
		for n := range sent {
			e.Raise(key, "box", n)
		}
		e.Start(reg)
		if got := enginetest.Output[int](e, key); got != sent-2 { // each execution has received one before
			e.T.Errorf("the next execution took %d events of %d", got, sent-2)
		}
		for execution, want := range []int64{replay.LevelOfTogether - 1, replay.EngineLevel} {
			started := e.History(key, int64(execution)+1)[0].Body.(*history.ExecutionStarted)
			if diff := cmp.Diff(replay.SettingsAt(want), started.Settings); diff != "" {
				e.T.Errorf("settings of execution %d: %s", execution+1, diff)
			}
		}
	})
}

// The first message counts for code that waits for several things, although the code runs after the last message of a turn.
func TestFirstMessageOfATurnCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		early bool // the event comes before the timer is due
		want  string
	}{"event": {true, "event"}, "timer": {false, "timer"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "either", func(ctx *octx, _ none) (string, error) {
					timer, box := orchestration.StartTimer(ctx, time.Hour), orchestration.Events[int](ctx, "box")
					i, err := orchestration.Select(ctx, timer, box)
					if err != nil {
						return "", err
					}
					return []string{"timer", "event"}[i], nil
				})
				enginetest.Orchestration(e.T, reg, "within", func(ctx *octx, _ none) (string, error) {
					inner, _ := ctx.WithTimeout(time.Hour)
					if _, err := orchestration.Events[int](inner, "box").Receive(inner); err != nil {
						return "timer", nil //nolint:nilerr // the timeout
					}
					return "event", nil
				})
				rt := e.Start(reg)
				keys := []provider.UUID{e.Create("either", "either", none{}), e.Create("within", "within", none{})}
				for _, key := range keys {
					e.Until("it waits", func() bool { return e.Get(key).HistoryLength == 2 })
				}
				e.Stop(rt)
				if !c.early {
					time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
				}
				for _, key := range keys {
					e.Raise(key, "box", 1)
				}
				if c.early {
					time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
				}
				e.Start(reg)
				for _, key := range keys {
					if got := enginetest.Output[string](e, key); got != c.want {
						e.T.Errorf("%s came first", got)
					}
				}
			})
		})
	}
}

// A turn whose messages stay without effect does not hold the code of the turn before: it ends with a message without content.
func TestHeldTurnIsFollowedByNothing(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const sent = 1_500
		reg := draining(e)
		key := e.Create("drain", "drain", none{})
		for n := range sent {
			e.RaiseAs(key, "box", n, "request "+string(rune('a'+n%3))) // all but three are repeats
		}
		rt := e.Start(reg)
		drained(e, rt, key, 3)
	})
}

// An event loop that never waits in between asks for as much after one turn of many events as after many turns of one.
func TestManyEventsOfATurnMayAskForMuch(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const events, each = 200, 100
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "work", func(context.Context, int) (none, error) { return none{}, nil })
		enginetest.Orchestration(e.T, reg, "loop", func(ctx *octx, _ none) (n int, err error) {
			box := orchestration.Events[int](ctx, "box")
			for range events {
				if _, err := box.Receive(ctx); err != nil {
					return n, err
				}
				for range each {
					f := orchestration.StartTimer(ctx, time.Hour)
					if f.Ready() {
						_, err := f.Get(ctx)
						return n, err
					}
					f.Cancel()
				}
				n++
			}
			return n, nil
		})
		key := e.Create("loop", "loop", none{})
		for n := range events {
			e.Raise(key, "box", n)
		}
		rt := e.Start(reg)
		if got := enginetest.Output[int](e, key); got != events {
			e.T.Errorf("handled %d of %d events", got, events)
		}
		synctest.Wait()
		if s := rt.Stats(); s.TurnsFailed != 0 || e.Get(key).Blocked != nil {
			e.T.Errorf("%d turns failed", s.TurnsFailed)
		}
		for _, event := range e.History(key, 1) {
			if event.More && event.Body.Kind() != history.KindExecutionStarted {
				e.T.Fatal("the code did not get the events one by one")
			}
		}
	})
}
