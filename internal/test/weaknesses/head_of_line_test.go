package weaknesses

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A message to an instance that is missing, or cannot take it, delays nobody else. Clients get an error, messages of
// the engine are counted or go to the dead letters, and unserved work waits aside.
func TestWeakness06_NothingBlocksTheHeadOfTheLine(t *testing.T) {
	t.Parallel()
	inEveryStore(t, claims{
		"clients are refused":                          clientsRefused,
		"results for parents that have ended":          orphanResults,
		"results for parents that are gone":            deletedParents,
		"messages of a terminated instance":            terminatedInbox,
		"instances and activities that no node can do": unserved,
		"instances that panic, more than slots":        panicking,
		"messages that nobody can decode":              undecodable,
	})
}

// chain calls an activity n times in sequence.
func chain(ctx *octx, n int) (int, error) {
	for i := range n {
		if _, err := orchestration.CallActivity(ctx, Double, i); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// fullSpeed runs a chain of activities and fails if any step has to wait.
func fullSpeed(e *engine) {
	e.T.Helper()
	began := time.Now()
	want(e, e.Create("chain", "chain", 20), 20)
	if took := time.Since(began); e.Virtual && took > 10*time.Millisecond {
		e.T.Errorf("others waited %v", took)
	}
}

// lined returns a registry with the chain, and with the obstacle as "main".
func lined[In, Out any](e *engine, fn func(*octx, In) (Out, error)) *runtime.Registry {
	e.T.Helper()
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "chain", chain)
	enginetest.Orchestration(e.T, reg, "main", fn)
	return reg
}

func clientsRefused(e *engine) {
	e.Start(lined(e, func(*octx, none) (none, error) { return none{}, nil }))
	c, ctx := newClient(e), e.T.Context()
	refused := func(what string, err, want error) {
		e.T.Helper()
		if !errors.Is(err, want) {
			e.T.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	refused("raise to nobody", c.Raise(ctx, "nobody", "event", 1), client.ErrNotFound)
	refused("cancel of nobody", c.Cancel(ctx, "nobody", ""), client.ErrNotFound)
	refused("terminate of nobody", c.Terminate(ctx, "nobody", ""), client.ErrNotFound)

	h, err := client.StartNamed[none](ctx, c, "main", none{}, client.WithID("main"))
	if err != nil {
		e.T.Fatal(err)
	}
	if _, err := h.Wait(ctx); err != nil {
		e.T.Fatal(err)
	}
	refused("raise to an ended one", h.Raise(ctx, "event", 1), client.ErrEnded)
	refused("cancel of an ended one", h.Cancel(ctx, ""), client.ErrEnded)
	if _, err := e.Store.Delete(ctx, provider.DeleteRequest{Key: h.Key()}); err != nil {
		e.T.Fatal(err)
	}
	refused("raise to a deleted one", h.Raise(ctx, "event", 1), client.ErrNotFound)
	refused("raise to a deleted ID", c.Raise(ctx, "main", "event", 1), client.ErrNotFound)
	if s := stats(e); len(s.Turns) != 0 || s.DeadLetters != 0 {
		e.T.Errorf("refused messages left something: %+v", s)
	}
	fullSpeed(e)
}

const crowd = 30

// cleaning is a child that keeps running after its cancellation, and so ends after its parent.
func cleaning(ctx *octx, _ none) (none, error) {
	err := ctx.Sleep(1000 * time.Hour)
	_, clean := orchestration.CallActivity(ctx.Detached(), Double, 1)
	return none{}, errors.Join(err, clean)
}

// orphanResults lets children end after their parents, or when these are in another execution.
func orphanResults(e *engine) {
	reg := lined(e, func(ctx *octx, again bool) (none, error) {
		if !again {
			return none{}, nil
		}
		orchestration.StartOrchestrationNamed[none](ctx, "child", none{})
		if _, err := orchestration.Events[none](ctx, "end").Receive(ctx); err != nil {
			return none{}, err
		}
		if ctx.Info().ID == "parent 0" {
			return none{}, orchestration.ContinueAsNew(ctx, false)
		}
		return none{}, nil
	})
	enginetest.Orchestration(e.T, reg, "child", cleaning)
	e.Start(reg)
	var parents []provider.UUID
	for i := range crowd {
		parents = append(parents, e.Create(fmt.Sprint("parent ", i), "main", true))
	}
	for _, parent := range parents {
		until(e, "the child runs", func() bool { list := children(e, parent); return len(list) == 1 && list[0].HistoryLength > 0 })
		e.Raise(parent, "end", none{})
	}
	for _, parent := range parents {
		wantStatus(e, parent, provider.StatusCompleted)
		wantStatus(e, children(e, parent)[0].Key, provider.StatusCancelled)
	}
	if n := provider.CountersOf(e.Store).Dropped; n < crowd-1 {
		e.T.Errorf("%d results without a receiver were counted, want %d", n, crowd-1)
	}
	fullSpeed(e)
}

// deletedParents deletes parents with their children while activities of the children run.
func deletedParents(e *engine) {
	reg := lined(e, func(ctx *octx, _ none) (none, error) {
		return orchestration.CallOrchestrationNamed[none](ctx, "child", none{})
	})
	enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (none, error) { return orchestration.CallActivity(ctx, Hang, none{}) })
	rt := e.Start(reg)
	var parents []provider.UUID
	for i := range crowd {
		parents = append(parents, e.Create(fmt.Sprint("parent ", i), "main", none{}))
	}
	until(e, "the activities run", func() bool { return rt.Stats().AttemptsRunning == crowd })
	for _, parent := range parents {
		if _, err := e.Store.Delete(e.T.Context(), provider.DeleteRequest{Key: parent, Force: true}); err != nil {
			e.T.Fatal(err)
		}
	}
	fullSpeed(e)
	until(e, "the activities have stopped", func() bool { return rt.Stats().AttemptsRunning == 0 })
	if s := stats(e); s.TurnLeases+s.TaskLeases != 0 || len(s.Turns)+len(s.Tasks) != 0 {
		e.T.Errorf("left behind: %+v", s)
	}
}

// terminatedInbox terminates instances with unread events.
func terminatedInbox(e *engine) {
	reg := lined(e, func(ctx *octx, _ none) (none, error) { return none{}, ctx.Sleep(time.Hour) })
	var keys []provider.UUID
	for i := range crowd {
		key := e.Create(fmt.Sprint("main ", i), "main", none{})
		e.Raise(key, "event", i)
		e.Terminate(key, "enough")
		keys = append(keys, key)
	}
	e.Start(reg)
	fullSpeed(e)
	res, err := e.Store.DeadLetters(e.T.Context(), provider.DeadLettersRequest{Action: provider.DeadLettersList})
	if err != nil {
		e.T.Fatal(err)
	}
	events := 0
	for _, l := range res.Letters {
		if history.Kind(l.Kind) == history.KindEventReceived && l.Reason != "" {
			events++
		}
	}
	if events != len(keys) {
		e.T.Errorf("%d of %d events are in the dead letters", events, len(keys))
	}
}

// unserved queues older work of all kinds that no node can do.
func unserved(e *engine) {
	reg := lined(e, func(ctx *octx, _ none) (none, error) {
		return orchestration.CallActivityNamed[none](ctx, "nowhere", none{})
	})
	opts := e.Options
	opts.MaxConcurrentTurns, opts.MaxConcurrentActivities = 2, 2
	for i := range crowd {
		key := e.Create(fmt.Sprint("nobody's ", i), "nobody's", none{})
		e.Raise(key, "event", i)
		e.Create(fmt.Sprint("main ", i), "main", none{})
	}
	rt := e.StartOn(e.Store, reg, opts)
	fullSpeed(e)
	health, err := rt.Health(e.T.Context())
	if err != nil || len(health.Unserved) != 2 || health.Unserved[0].Count != crowd {
		e.T.Errorf("health does not show what waits: %+v, %v", health, err)
	}
	if health.Blocked != 0 {
		e.T.Errorf("%d instances are blocked for want of a node", health.Blocked)
	}
}

// panicking has more instances that panic at each attempt than there are slots for turns.
func panicking(e *engine) {
	reg := lined(e, func(*octx, none) (none, error) { panic("broken") })
	opts := e.Options
	opts.MaxConcurrentTurns = 4
	for i := range crowd {
		e.Create(fmt.Sprint("main ", i), "main", none{})
	}
	e.StartOn(e.Store, reg, opts)
	until(e, "all are blocked", func() bool { return stats(e).Blocked == crowd })
	fullSpeed(e)
	if n := stats(e).Blocked; n != crowd {
		e.T.Errorf("%d of %d instances are blocked", n, crowd)
	}
}

// undecodable puts a message that no release can read at the head of many inboxes.
func undecodable(e *engine) {
	reg := lined(e, func(ctx *octx, _ none) (none, error) {
		return orchestration.Events[none](ctx, "end").Receive(ctx)
	})
	opts := e.Options
	opts.MaxConcurrentTurns = 4
	for i := range crowd {
		key := e.Create(fmt.Sprint("main ", i), "main", none{})
		if _, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: key, Message: provider.NewMessage{
			Kind: provider.MessageKind(history.KindEventReceived), Payload: []byte{0, 1, 2},
		}}); err != nil {
			e.T.Fatal(err)
		}
	}
	e.StartOn(e.Store, reg, opts)
	until(e, "all are blocked", func() bool { return stats(e).Blocked == crowd })
	fullSpeed(e)
}
