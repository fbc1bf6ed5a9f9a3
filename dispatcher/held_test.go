package dispatcher_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// meddling is a store that calls before ahead of each commit that ends an instance.
type meddling struct {
	provider.Provider

	before func()
}

// CommitTurn implements [provider.Provider].
func (m *meddling) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if req.Status.Ended() {
		m.before()
	}
	return m.Provider.CommitTurn(ctx, req)
}

// Code that was held runs although the message that it should wait for is gone: the turn that holds it cancels the timer, which was due.
func TestHeldCodeRunsAlthoughNothingFollows(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "drain", func(ctx *octx, _ none) (n int, err error) {
			orchestration.StartTimer(ctx, time.Hour)
			box := orchestration.Events[int](ctx, "box")
			if _, err := box.Receive(ctx); err != nil {
				return 0, err
			}
			n, err = takeAll(box)
			return n + 1, err
		})
		rt := e.Start(reg)
		key := e.Create("drain", "drain", none{})
		e.Until("it waits", func() bool { return e.Get(key).HistoryLength == 2 })
		e.Stop(rt)
		for n := range 1999 {
			e.Raise(key, "box", n)
		}
		e.Cancel(key, "enough")
		time.Sleep(2 * time.Hour) //nolint:forbidigo // virtual
		e.Start(reg)
		enginetest.Output[int](e, key)
	})
}

// A turn that failed once is made again with the messages one by one. Code that drains its mailbox and returns gets all of them all the same.
func TestDrainedMailboxHasAllAfterAFailedTurn(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const sent = 5
		var failed atomic.Bool
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "drain", func(ctx *octx, _ none) (n int, err error) {
			box := orchestration.Events[int](ctx, "box")
			if _, err := box.Receive(ctx); err != nil {
				return 0, err
			}
			if failed.CompareAndSwap(false, true) {
				panic("once")
			}
			n, err = takeAll(box)
			return n + 1, err
		})
		key := e.Create("drain", "drain", none{})
		for n := range sent {
			e.Raise(key, "box", n)
		}
		rt := e.Start(reg)
		drained(e, rt, key, sent)
	})
}

// Ends that were refused count only in a row: three of them, an hour apart, bury no event.
func TestRefusedEndsAreForgottenOnceTheCodeGoesOn(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const rounds = 4
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "drain", func(ctx *octx, _ none) (all int, err error) {
			box := orchestration.Events[int](ctx, "box")
			for n := 0; n != 1; all += n { // one event alone ends it
				if _, err := box.Receive(ctx); err != nil {
					return 0, err
				}
				n, err = takeAll(box)
				n++
			}
			return all, err
		})
		var key provider.UUID
		var ends atomic.Int64
		m := &meddling{Provider: e.Store, before: func() {
			if ends.Add(1) <= rounds {
				e.Raise(key, "box", 1)
			}
		}}
		rt := e.StartOn(m, reg, e.Options)
		key = e.Create("drain", "drain", none{})
		for i := range rounds {
			e.Raise(key, "box", i)
			time.Sleep(time.Hour) //nolint:forbidigo // virtual
		}
		e.Raise(key, "box", rounds)
		drained(e, rt, key, 2*rounds+1)
	})
}

// A flood that turns hold reaches the code in amounts that one commit stores. Messages beyond that go to the dead letters.
func TestHeldFloodFitsACommit(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const flood = 13_000
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "drain", func(ctx *octx, _ none) (n int, err error) {
			box := orchestration.Events[int](ctx, "box")
			if _, err := box.Receive(ctx); err != nil {
				return 0, err
			}
			for ok := true; ok && err == nil; n++ {
				if _, err := orchestration.SideEffect(ctx, func() (int, error) { return 1, nil }); err != nil {
					return n, err
				}
				_, ok, err = box.TryReceive()
			}
			return n, err
		})
		var key provider.UUID
		var begun atomic.Bool
		m := &meddling{Provider: e.Store, before: func() {
			if begun.CompareAndSwap(false, true) {
				for i := range flood {
					e.Raise(key, "box", i)
				}
			}
		}}
		e.StartOn(m, reg, e.Options)
		key = e.Create("drain", "drain", none{})
		e.Raise(key, "box", 0)
		if got, dead := enginetest.Output[int](e, key), len(deadLetters(e)); got+dead != flood+1 || got < flood/4 {
			e.T.Errorf("%d events taken, %d in the dead letters, of %d", got, dead, flood+1)
		}
	})
}
