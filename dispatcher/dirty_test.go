package dispatcher_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// held is a store that holds the next commit back, once that is asked for, and counts what conflicts. An engine that
// conflicts with itself for ever is stopped.
type held struct {
	*provider.Full

	hold      atomic.Bool
	reached   chan struct{}
	release   chan struct{}
	conflicts atomic.Int64
}

func newHeld(p provider.Provider) *held {
	return &held{Full: provider.FullOf(p), reached: make(chan struct{}), release: make(chan struct{})}
}

func (h *held) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if h.hold.CompareAndSwap(true, false) {
		close(h.reached)
		<-h.release
	}
	res, err := h.Provider.CommitTurn(ctx, req)
	if err != nil && h.conflicts.Add(1) == 20 {
		_, _ = h.Provider.Steer(ctx, provider.SteerRequest{
			Key: req.Key, Action: provider.SteerTerminate, Commit: enginetest.NewID(),
			Event:  history.Encode(nil, history.Event{Body: &history.ExecutionTerminated{Reason: "conflicts without end"}}),
			Result: history.EncodeOutcome(history.Outcome{Output: []byte("-1")}),
		})
	}
	return res, err
}

// elsewhere commits a turn as another node would: with an event that the execution receives, or without any.
func elsewhere(e *enginetest.Engine, key provider.UUID, event history.Body) {
	e.T.Helper()
	i := e.Get(key)
	req := provider.CommitTurnRequest{
		Key: key, Execution: i.Execution, Expected: i.Version, Length: i.HistoryLength, Commit: enginetest.NewID(),
		Status: provider.StatusRunning, EngineLevel: replay.EngineLevel,
	}
	if event != nil {
		req.Events = [][]byte{history.Encode(nil, history.Event{ID: i.HistoryLength + 1, At: int64(i.UpdatedAt), Body: event})}
	}
	if _, err := e.Store.CommitTurn(e.T.Context(), req); err != nil {
		e.T.Fatal(err)
	}
}

func boxed(n int) history.Body {
	return &history.EventReceived{Name: "box", Payload: fmt.Append(nil, n), RequestID: enginetest.NewID().String()}
}

// adds registers "add", which sums n events. The counter unwound has executions that were evicted or ended.
func adds(e *enginetest.Engine, unwound *atomic.Int64) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "add", func(ctx *octx, n int) (int, error) {
		defer unwound.Add(1)
		box, sum := orchestration.Events[int](ctx, "box"), 0
		for range n {
			v, err := box.Receive(ctx)
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	})
	return reg
}

// Another node has committed since this one cached the execution, with an event or without. No turn uses the stale
// execution: it is evicted and rebuilt before the next one.
func TestHazard07_StaleExecutionIsThrownAway(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]history.Body{"longer": boxed(20), "as long": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				var unwound atomic.Int64
				node := newHeld(e.Store)
				rt := e.StartOn(node, adds(e, &unwound), e.Options)
				want, n := 4, 2
				if event != nil {
					want, n = 24, 3
				}
				key := e.Create("add", "add", n)
				e.Raise(key, "box", 1)
				synctest.Wait()
				elsewhere(e, key, event)
				e.Raise(key, "box", 3)
				if got := enginetest.Output[int](e, key); got != want {
					e.T.Errorf("got %d", got)
				}
				synctest.Wait()
				if s := rt.Stats(); s.TurnsConflicted != 0 || s.ColdReplays != 1 || s.Cached != 0 || unwound.Load() != 2 {
					e.T.Errorf("unwound %d times; %+v", unwound.Load(), s)
				}
			})
		})
	}
}

// A turn that another node's commit overtook is not kept: what it did to the execution never happened.
func TestHazard07_ConflictThrowsTheTurnAway(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]history.Body{"longer": boxed(20), "as long": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				var unwound atomic.Int64
				node := newHeld(e.Store)
				rt := e.StartOn(node, adds(e, &unwound), e.Options)
				want, n := 4, 2
				if event != nil {
					want, n = 24, 3
				}
				key := e.Create("add", "add", n)
				synctest.Wait()
				node.hold.Store(true)
				e.Raise(key, "box", 1)
				<-node.reached
				elsewhere(e, key, event)
				close(node.release)
				synctest.Wait()
				e.Raise(key, "box", 3)
				if got := enginetest.Output[int](e, key); got != want {
					e.T.Errorf("got %d", got)
				}
				if s := rt.Stats(); s.TurnsConflicted != 1 || s.ColdReplays != 1 {
					e.T.Errorf("%+v", s)
				}
			})
		})
	}
}

// Until the commit is confirmed nothing leaves the execution: no activity begins and no second turn is made. If it is
// not confirmed, they never were.
func TestHazard07_NothingLeavesBeforeTheCommit(t *testing.T) {
	t.Parallel()
	for name, confirmed := range map[string]bool{"confirmed": true, "overtaken": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				var seen, ran enginetest.Notes[int]
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) {
					ran.Add(n)
					return n, nil
				})
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
					box, sum := orchestration.Events[int](ctx, "box"), 0
					for range 2 {
						n, err := box.Receive(ctx)
						if err != nil {
							return 0, err
						}
						seen.Add(n)
						v, err := orchestration.CallActivityNamed[int](ctx, "work", n)
						if err != nil {
							return 0, err
						}
						sum += v
					}
					return sum, nil
				})
				node := newHeld(e.Store)
				rt := e.StartOn(node, reg, e.Options)
				key := e.Create("main", "main", none{})
				synctest.Wait()
				node.hold.Store(true)
				e.Raise(key, "box", 1)
				<-node.reached
				e.Raise(key, "box", 2)
				time.Sleep(time.Second) //nolint:forbidigo // virtual time
				if len(ran.All()) != 0 || len(seen.All()) != 1 {
					e.T.Errorf("before the commit: activities %v, events %v", ran.All(), seen.All())
				}
				if !confirmed {
					elsewhere(e, key, nil)
				}
				close(node.release)
				if got := enginetest.Output[int](e, key); got != 3 {
					e.T.Errorf("got %d", got)
				}
				if got := fmt.Sprint(ran.All()); got != "[1 2]" {
					e.T.Errorf("activities that ran: %s; %+v", got, rt.Stats())
				}
				results(e, key)
			})
		})
	}
}

// A closing turn whose inbox was not empty is not kept either: it is made anew with what came.
func TestHazard07_RefusedEndNeverHappened(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var ends atomic.Int64
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			_, err := orchestration.Events[int](ctx, "end").Receive(ctx)
			ends.Add(1)
			return 1, err
		})
		node := newHeld(e.Store)
		e.StartOn(node, reg, e.Options)
		key := e.Create("main", "main", none{})
		synctest.Wait()
		node.hold.Store(true)
		e.Raise(key, "end", 0)
		<-node.reached
		offer(e, key, 7)
		close(node.release)
		enginetest.Output[int](e, key)
		if n := ends.Load(); n != 2 {
			e.T.Errorf("the code came to its end %d times: the refused turn was kept", n)
		}
		// The code did not read the event, and it is not lost.
		if n := received(e, key); n != 2 || len(deadLetters(e)) != 0 || node.conflicts.Load() != 1 {
			e.T.Errorf("%d events in the history, dead letters %+v after %d refusals", n, deadLetters(e), node.conflicts.Load())
		}
	})
}
