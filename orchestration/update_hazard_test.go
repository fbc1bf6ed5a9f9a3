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
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// send sends an update.
func send(e *enginetest.Engine, h client.Handle[[]string], name, id string, in any) client.UpdateHandle[int] {
	e.T.Helper()
	u, err := client.SendUpdate[int](e.T.Context(), h, name, in, client.WithUpdateID(id))
	if err != nil {
		e.T.Fatal(err)
	}
	return u
}

// outcomeOf waits for an update, and fails the test if that takes too long.
func outcomeOf(e *enginetest.Engine, u client.UpdateHandle[int], opts ...client.WaitOption) (int, error) {
	e.T.Helper()
	ctx, cancel := context.WithTimeout(e.T.Context(), 20*time.Second)
	defer cancel()
	return u.Wait(ctx, opts...)
}

// stored returns what is stored of an update.
func stored(e *enginetest.Engine, key provider.UUID, id string) (s history.UpdateState) {
	e.T.Helper()
	res, err := e.Store.Get(e.T.Context(), provider.GetRequest{Key: key, Value: history.UpdateKey(id)})
	if err != nil || res.Value == nil {
		e.T.Fatalf("nothing is stored of update %q: %v", id, err)
	}
	if s, err = history.DecodeUpdateState(res.Value.Value); err != nil {
		e.T.Fatal(err)
	}
	return s
}

// The outcome is a value of the instance: no node is needed to read it, and an end without it ends the wait.
func TestHazard49_WaitingNeedsNoNode(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "basket", basket)
		rt := e.Start(reg)
		c := e.Client(client.Options{})
		h, err := client.StartNamed[[]string](e.T.Context(), c, "basket", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		if n, err := outcomeOf(e, send(e, h, "add", "u-1", "a")); err != nil || n != 1 {
			e.T.Errorf("the first update: %d, %v", n, err)
		}
		held := send(e, h, "held", "u-2", "b")
		if n, err := outcomeOf(e, held, client.UntilAccepted()); err != nil || n != 0 {
			e.T.Errorf("waiting for the acceptance: %d, %v", n, err)
		}
		e.Stop(rt)
		alone, err := client.New(e.Store, client.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		again := client.HandleOf[[]string](alone, h.ID(), h.Key())
		if n, err := outcomeOf(e, client.UpdateOf[int](again, "u-1")); err != nil || n != 1 {
			e.T.Errorf("without a node: %d, %v", n, err)
		}
		second := e.Start(reg)
		if err := again.Raise(e.T.Context(), "go", none{}); err != nil {
			e.T.Fatal(err)
		}
		if n, err := outcomeOf(e, client.UpdateOf[int](again, "u-2")); err != nil || n != 2 {
			e.T.Errorf("after the node came back: %d, %v", n, err)
		}
		lost := send(e, h, "held", "u-3", "c")
		if _, err := outcomeOf(e, lost, client.UntilAccepted()); err != nil {
			e.T.Error(err)
		}
		e.Stop(second)
		if err := again.Terminate(e.T.Context(), "test"); err != nil {
			e.T.Fatal(err)
		}
		if _, err := outcomeOf(e, lost); !errors.Is(err, client.ErrAbandoned) {
			e.T.Errorf("after the termination: %v", err)
		}
		if n, err := outcomeOf(e, client.UpdateOf[int](again, "u-1")); err != nil || n != 1 {
			e.T.Errorf("the outcome after the end: %d, %v", n, err)
		}
		d, err := again.Describe(e.T.Context())
		if err != nil || len(d.Keys) != 0 {
			e.T.Errorf("keys of the engine show: %v, %v", d.Keys, err)
		}
		if _, err := client.Value[any](e.T.Context(), again, history.UpdateKey("u-1")); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("reading a key of the engine: %v", err)
		}
	})
}

// An update that comes before the code begins is received. It is decided about when its handler registers or the code first
// waits. No message stays in the inbox.
func TestHazard50_UpdatesBeforeTheirHandlers(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := baskets(e)
		e.Stop(e.Start(reg)) // a store takes updates when it has had a node
		_, h := newBasket(e, reg, client.WithDelay(2*time.Second))
		var updates []client.UpdateHandle[int]
		for i, item := range []string{"a", "b", "c", "d"} {
			updates = append(updates, send(e, h, "add", fmt.Sprint("u-", i), item))
		}
		updates = append(updates, send(e, h, "sub", "u-4", "x"))
		e.Start(reg) // not before, as a busy machine may send them after the delay
		for i, u := range updates {
			switch n, err := outcomeOf(e, u); {
			case i < 3 && (err != nil || n != i+1):
				e.T.Errorf("update %d: %d, %v", i, n, err)
			case i == 3 && !errors.Is(err, client.ErrRejected): // it was validated when those before it had run
				e.T.Errorf("update %d: %d, %v", i, n, err)
			case i == 4 && !errors.Is(err, client.ErrUnknownUpdate):
				e.T.Errorf("update %d: %v", i, err)
			}
		}
		if i := e.Get(h.Key()); i.InboxMessages != 0 || i.ReadyAt != 0 {
			e.T.Errorf("the inbox has %d messages, the first at %v", i.InboxMessages, i.ReadyAt)
		}
		events := kinds(e.History(h.Key(), 1))
		if strings.Count(events, "UpdateReceived") != 5 || strings.Count(events, "UpdateRejected") != 2 {
			e.T.Errorf("the history is %s", events)
		}
		if _, err := client.Update[int](e.T.Context(), h, "add", "e"); !errors.Is(err, client.ErrRejected) {
			e.T.Errorf("a full cart: %v", err)
		}
		finishBasket(e, h, "a", "b", "c")
	})
}

// An update behind the end is decided about by the closing commit, and not dropped.
func TestHazard51_UpdatesBehindTheEnd(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "basket", basket)
		rt := e.Start(reg)
		c := e.Client(client.Options{})
		h, err := client.StartNamed[[]string](e.T.Context(), c, "basket", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := client.Update[int](e.T.Context(), h, "add", "a"); err != nil {
			e.T.Fatal(err)
		}
		e.Stop(rt)
		if err := h.Raise(e.T.Context(), "done", none{}); err != nil {
			e.T.Fatal(err)
		}
		late := make([]client.UpdateHandle[int], 5)
		for i := range late {
			late[i] = send(e, h, "add", fmt.Sprint("u-", i), "late")
		}
		e.Start(reg)
		for i, u := range late {
			if _, err := outcomeOf(e, u); !errors.Is(err, client.ErrEnded) {
				e.T.Errorf("update %d: %v", i, err)
			}
			if got := stored(e, h.Key(), u.ID()).Outcome; got != history.UpdateEnded {
				e.T.Errorf("update %d has the outcome %d", i, got)
			}
		}
		if got, err := h.Wait(e.T.Context()); err != nil || !slices.Equal(got, []string{"a"}) {
			e.T.Errorf("collected %v, %v", got, err)
		}
		if d, err := h.Describe(e.T.Context()); err != nil || d.DeadLetters != 0 {
			e.T.Errorf("%d dead letters, %v", d.DeadLetters, err)
		}
	})
}

// rounds takes one update in each of its executions.
func rounds(ctx *octx, round int) (int, error) {
	taken := false
	orchestration.HandleUpdate(ctx, "take", func(_ *octx, _ int) (int, error) {
		taken = true
		return round, nil
	}, orchestration.Validate(func(int) error {
		if taken {
			return errors.New("this round has taken one")
		}
		return nil
	}))
	box := orchestration.Events[none](ctx, "next")
	if _, err := box.Receive(ctx); err != nil {
		return 0, err
	}
	if round == 3 {
		return round, nil
	}
	return 0, orchestration.ContinueAsNew(ctx, round+1)
}

// Updates behind a continue-as-new go to the next execution, and IDs are known there.
func TestHazard51_UpdatesGoToTheNextExecution(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "rounds", rounds)
		rt := e.Start(reg)
		ctx := e.T.Context()
		h, err := client.StartNamed[int](ctx, e.Client(client.Options{}), "rounds", 1)
		if err != nil {
			e.T.Fatal(err)
		}
		if n, err := client.Update[int](ctx, h, "take", 0, client.WithUpdateID("u-1")); err != nil || n != 1 {
			e.T.Errorf("in the first execution: %d, %v", n, err)
		}
		e.Stop(rt)
		if err := h.Raise(ctx, "next", none{}); err != nil {
			e.T.Fatal(err)
		}
		u, err := client.SendUpdate[int](ctx, h, "take", 0, client.WithUpdateID("u-2"))
		if err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		if n, err := outcomeOf(e, u); err != nil || n != 2 {
			e.T.Errorf("behind the continue-as-new: %d, %v", n, err)
		}
		if n, err := client.Update[int](ctx, h, "take", 0, client.WithUpdateID("u-1")); err != nil || n != 1 {
			e.T.Errorf("an ID of the first execution: %d, %v", n, err)
		}
		// The client would have found the outcome. The instance knows the ID, too.
		body := &history.UpdateReceived{Name: "take", ID: "u-1", Input: []byte("0")}
		if _, err := e.Store.Send(ctx, provider.SendRequest{Key: h.Key(), Message: provider.NewMessage{
			Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body}),
		}}); err != nil {
			e.T.Fatal(err)
		}
		for range 2 {
			if err := h.Raise(ctx, "next", none{}); err != nil {
				e.T.Fatal(err)
			}
		}
		if got, err := h.Wait(ctx); err != nil || got != 3 {
			e.T.Errorf("ended with %d, %v", got, err)
		}
		if got := stored(e, h.Key(), "u-1"); got.Outcome != history.UpdateDone || string(got.Output) != "1" {
			e.T.Errorf("the first outcome is now %+v", got)
		}
		for execution := range int64(3) {
			events := kinds(e.History(h.Key(), execution+1))
			if want := []int{1, 1, 0}[execution]; strings.Count(events, "UpdateReceived") != want {
				e.T.Errorf("execution %d: %s", execution+1, events)
			}
		}
	})
}
