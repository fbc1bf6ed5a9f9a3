package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// resettable registers an orchestration that takes two events and returns what the second one says.
func resettable(e *enginetest.Engine) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "two", func(ctx *octx, _ none) (string, error) {
		box := orchestration.Events[string](ctx, "box")
		if _, err := box.Receive(ctx); err != nil {
			return "", err
		}
		if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
			return "", err
		}
		how, err := box.Receive(ctx)
		switch {
		case err != nil:
			return "", err
		case how == "fail":
			return "", errors.New("on purpose")
		case how == "panic":
			panic("on purpose")
		}
		return how, nil
	})
	return reg
}

// twoOf starts an instance that waits for its second event. That would be event 5.
func twoOf(e *enginetest.Engine, c *client.Client, id string) client.Handle[string] {
	e.T.Helper()
	h, err := client.StartNamed[string](e.T.Context(), c, "two", none{}, client.WithID(id))
	if err != nil {
		e.T.Fatal(err)
	}
	e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength > 0 })
	e.Raise(h.Key(), "box", "first")
	e.Until("it waits again", func() bool { return e.Get(h.Key()).HistoryLength == 4 })
	return h
}

// An instance in any status goes on from the point, and takes there what it is told then.
func TestResetInEveryStatus(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(e *enginetest.Engine, key provider.UUID){
		"running":    func(*enginetest.Engine, provider.UUID) {},
		"suspended":  func(e *enginetest.Engine, key provider.UUID) { e.Steer(key, provider.SteerSuspend) },
		"completed":  func(e *enginetest.Engine, key provider.UUID) { e.Raise(key, "box", "second"); e.WaitEnded(key) },
		"failed":     func(e *enginetest.Engine, key provider.UUID) { e.Raise(key, "box", "fail"); e.WaitEnded(key) },
		"cancelled":  func(e *enginetest.Engine, key provider.UUID) { e.Cancel(key, "enough"); e.WaitEnded(key) },
		"terminated": func(e *enginetest.Engine, key provider.UUID) { e.Terminate(key, "enough") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryStore(t, func(e *enginetest.Engine) {
				e.Start(resettable(e))
				c := e.Client(client.Options{})
				h := twoOf(e, c, "two")
				end(e, h.Key())
				if _, err := client.Reset(e.T.Context(), h, 5, client.DropLater()); err != nil {
					e.T.Fatal(err)
				}
				e.Raise(h.Key(), "box", "again")
				if got, err := h.Wait(e.T.Context()); err != nil || got != "again" {
					e.T.Errorf("%q, %v", got, err)
				}
				old := e.History(h.Key(), 1)
				if len(old) < 4 {
					e.T.Errorf("of the old execution %d events are left", len(old))
				}
			})
		})
	}
}

// A reset clears the flag of a blocked instance, and runs what waits again.
func TestResetOfABlockedInstance(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Start(resettable(e))
		c := e.Client(client.Options{})
		h := twoOf(e, c, "two")
		e.Raise(h.Key(), "box", "panic")
		_, number, _ := strings.Cut(e.WaitBlocked(h.Key(), 1).Blocked.Message, "message ")
		n := int64(0)
		if _, err := fmt.Sscan(number, &n); err != nil {
			e.T.Fatalf("%q: %v", number, err)
		}
		if _, err := client.Reset(e.T.Context(), h, 5); err != nil {
			e.T.Fatal(err)
		}
		e.WaitBlocked(h.Key(), 1) // the message was never received, so it still waits
		if err := h.DropMessage(e.T.Context(), n, ""); err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Reset(e.T.Context(), h, 4); err != nil {
			e.T.Fatal(err)
		}
		e.Raise(h.Key(), "box", "again")
		if got, err := h.Wait(e.T.Context()); err != nil || got != "again" {
			e.T.Errorf("%q, %v", got, err)
		}
	})
}

// Executions of releases before level 7 open, too, and keep their behaviours.
func TestResetOfAnOldExecution(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Start(resettable(e))
		c := e.Client(client.Options{})
		for at := range int64(5) {
			id := fmt.Sprint("old-", at)
			h := client.HandleOf[string](c, id, e.CreateOneByOne(id, "two", none{}))
			e.Raise(h.Key(), "box", "first")
			e.Raise(h.Key(), "box", "second")
			if _, err := h.Wait(e.T.Context()); err != nil {
				e.T.Fatal(err)
			}
			if _, err := client.Reset(e.T.Context(), h, at+1); errors.Is(err, client.ErrBadPoint) {
				continue
			} else if err != nil {
				e.T.Fatal(err)
			}
			if got, err := h.Wait(e.T.Context()); err != nil || got != "second" {
				e.T.Errorf("at %d: %q, %v", at+1, got, err)
			}
		}
	})
}

// unheard is a store that loses the first answers to questions, as if the node had died.
type unheard struct {
	*provider.Full

	lost   atomic.Int64 // answers that are still lost
	resets atomic.Int64
	refuse atomic.Bool // resets
}

func (f *unheard) Answer(ctx context.Context, req provider.AnswerRequest) error {
	if f.lost.Add(-1) >= 0 {
		return nil
	}
	return f.Full.Answer(ctx, req)
}

func (f *unheard) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	f.resets.Add(1)
	if f.refuse.Load() {
		return provider.SteerResult{}, provider.ErrConflict
	}
	return f.Full.Reset(ctx, req)
}

// A node that dies after it has stored the act leaves the question to another one. The act happens once, and so it does when the caller repeats it.
func TestHazard57_TheActHappensOnce(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		store := &unheard{Full: e.Store}
		rt := e.StartOn(provider.FullOf(store), resettable(e), e.Options)
		c := clienttest.Of(e.T, rt, client.Options{})
		h := twoOf(e, c, "two")
		store.lost.Store(1)
		for range 2 {
			if n, err := client.Reset(e.T.Context(), h, 4, client.Repeatable("act")); err != nil || n != 2 {
				e.T.Errorf("execution %d, %v", n, err)
			}
			if i := e.Get(h.Key()); i.Execution != 2 {
				e.T.Errorf("it is in execution %d", i.Execution)
			}
		}
		store.lost.Store(1)
		var keys []provider.UUID
		for range 2 {
			f, err := client.Fork(e.T.Context(), h, 2, "fork", client.Repeatable("fork"))
			if err != nil {
				e.T.Fatal(err)
			}
			keys = append(keys, f.Key())
		}
		if keys[0] != keys[1] || e.Get(keys[0]).ID != "fork" {
			e.T.Errorf("forks %v", keys)
		}
	})
}

// A reset that never comes between two turns of its instance is given up, and nothing is stored.
func TestResetOfABusyInstance(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := &unheard{Full: e.Store}
		rt := e.StartOn(provider.FullOf(store), resettable(e), e.Options)
		h := twoOf(e, clienttest.Of(e.T, rt, client.Options{}), "two")
		store.refuse.Store(true)
		if _, err := client.Reset(e.T.Context(), h, 4); !errors.Is(err, client.ErrBusy) || store.resets.Load() != 2*5 {
			e.T.Errorf("after %d tries: %v", store.resets.Load(), err)
		}
	})
}

// Code that does not match what would be kept is refused with the first difference, and nothing is stored.
func TestHazard56_CodeThatDiffersIsRefused(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		rt := e.Start(resettable(e))
		h := twoOf(e, e.Client(client.Options{}), "two")
		e.Raise(h.Key(), "box", "second")
		if _, err := h.Wait(e.T.Context()); err != nil {
			e.T.Fatal(err)
		}
		e.Stop(rt)
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "two", func(ctx *octx, _ none) (string, error) {
			if ctx.Info().Execution > 1 { // what a reset must not change
				return "", ctx.Sleep(1)
			}
			return orchestration.Events[string](ctx, "box").Receive(ctx)
		})
		e.Start(reg)
		before := e.Get(h.Key())
		_, err := client.Reset(e.T.Context(), h, 5)
		if !errors.Is(err, client.ErrNotReplayed) || !strings.Contains(err.Error(), "TimerCreated") || !strings.Contains(err.Error(), "reset_test.go") {
			e.T.Errorf("%v", err)
		}
		if _, err = client.Fork(e.T.Context(), h, 5, "fork"); !errors.Is(err, client.ErrNotReplayed) {
			e.T.Errorf("%v", err)
		}
		if i := e.Get(h.Key()); i.Version != before.Version {
			e.T.Errorf("something was stored: %+v", i)
		}
	})
}

// Code of a fork may differ from what would be kept by the identity that it will have, and by that of its origin, in different places. The
// refusal names the difference for the identity that it will have, as that is what the caller asked for.
func TestARefusedForkNamesTheDifferenceForItself(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		rt := e.Start(resettable(e))
		h := twoOf(e, e.Client(client.Options{}), "two")
		e.Stop(rt)
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "two", func(ctx *octx, _ none) (string, error) {
			if ctx.Info().ID == "fork" {
				return "", ctx.Sleep(1)
			}
			_, err := orchestration.CallActivity(ctx, Double, 1)
			return "", err
		})
		e.Start(reg)
		_, err := client.Fork(e.T.Context(), h, 5, "fork")
		if !errors.Is(err, client.ErrNotReplayed) || !strings.Contains(err.Error(), "TimerCreated") || strings.Contains(err.Error(), "Double") {
			e.T.Errorf("a fork: %v", err)
		}
		_, err = client.Reset(e.T.Context(), h, 5) // both have the ID of the origin
		if !errors.Is(err, client.ErrNotReplayed) || !strings.Contains(err.Error(), "Double") || strings.Contains(err.Error(), "TimerCreated") {
			e.T.Errorf("a reset: %v", err)
		}
	})
}

// A store on which older nodes may run is not given what they cannot read.
func TestHazard80_ResetsNeedTheirLevel(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := e.CreateOneByOne("two", "two", none{})
		older, err := runtime.Start(upgrade.As(e.T.Context(), upgrade.Unrecorded), e.Store, resettable(e), e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		e.Stop(older) // the store keeps its level
		e.Start(resettable(e))
		e.Until("it waits", func() bool { return e.Get(key).HistoryLength > 0 })
		_, err = client.Reset(e.T.Context(), client.HandleOf[string](e.Client(client.Options{}), "two", key), 1)
		if !errors.Is(err, client.ErrNotFinished) || !strings.Contains(err.Error(), "upgrade --finish") || e.Get(key).Execution != 1 {
			e.T.Errorf("%v", err)
		}
	})
}
