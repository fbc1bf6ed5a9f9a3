package features

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

// The design of an SDK for coroutines, and that of a runtime with job trees, demand these of handlers.
func TestHandlers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(r *rig){
		"update":                update,
		"update_handle":         updateHandle,
		"handlers_outlive_main": handlersOutliveMain,
		"handlers_after_main":   handlersAfterMain,
		"unhandled_messages":    unhandledMessages,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, test)
		})
	}
}

var errFull = errors.New("the cart is full")

// filling takes updates until an event ends it. Its handlers share the state of the main function and may wait.
func filling(ctx *octx, _ none) (string, error) {
	var items []string
	full := orchestration.Validate(func(item string) error {
		if len(items) >= 2 {
			return fmt.Errorf("adding %s: %w", item, errFull)
		}
		return nil
	})
	orchestration.HandleUpdate(ctx, "add", func(ctx *octx, item string) (int, error) {
		if err := ctx.Sleep(time.Millisecond); err != nil {
			return 0, err
		}
		items = append(items, item)
		return len(items), nil
	}, full, orchestration.Serial())
	orchestration.HandleUpdate(ctx, "fail", func(*octx, none) (none, error) { return none{}, errFull })
	orchestration.HandleUpdate(ctx, "late", func(ctx *octx, _ none) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "held", none{})
	})
	err := receive(ctx, "done")
	return strings.Join(items, " "), err
}

// begin registers an orchestration, starts a node and then an instance. A store is one of the newest level if a node comes first.
func (r *rig) begin(fn func(*octx, none) (string, error), opts ...client.StartOption) (*runtime.Runtime, client.Handle[string]) {
	r.T.Helper()
	enginetest.Orchestration(r.T, r.reg, "main", fn)
	rt := r.Start(r.reg)
	h, err := client.StartNamed[string](r.T.Context(), r.Client(client.Options{}), "main", none{}, append(opts, client.WithID("main"))...)
	if err != nil {
		r.T.Fatal(err)
	}
	return rt, h
}

// update: a validator rejects without an event; an accepted handler waits, changes state and returns a typed output; a failing
// one fails its caller only; an unknown name is refused with the known ones.
func update(r *rig) {
	_, h := r.begin(filling)
	key, ctx := h.Key(), r.T.Context()
	for n, item := range []string{"tea", "milk"} {
		if got, err := client.Update[int](ctx, h, "add", item); got != n+1 || err != nil {
			r.T.Errorf("adding %s: %d, %v", item, got, err)
		}
	}
	before := r.Get(key).HistoryLength
	if _, err := client.Update[int](ctx, h, "add", "salt"); !errors.Is(err, client.ErrRejected) || !strings.Contains(err.Error(), errFull.Error()) {
		r.T.Errorf("an update that the validator refuses: %v", err)
	}
	unknown := new(client.UnknownUpdateError)
	if _, err := client.Update[int](ctx, h, "sub", "tea"); !errors.As(err, &unknown) || !slices.Contains(unknown.Known, "add") {
		r.T.Errorf("an unknown update: %v", err)
	}
	if after := r.Get(key).HistoryLength; after != before {
		r.T.Errorf("refused updates left %d events", after-before)
	}
	if _, err := client.Update[none](ctx, h, "fail", none{}); !errors.Is(err, client.ErrUpdateFailed) {
		r.T.Errorf("a failing handler: %v", err)
	}
	r.Raise(key, "done", none{})
	if got := enginetest.Output[string](r.Engine, key); got != "tea milk" {
		r.T.Errorf("it ended with %q", got)
	}
}

// updateHandle: an update that was only sent is waited for from anywhere by its ID, is taken once, and keeps its outcome after
// the end.
func updateHandle(r *rig) {
	rt, h := r.begin(filling)
	key, ctx := h.Key(), r.T.Context()
	if _, err := client.Update[int](ctx, h, "add", "tea", client.WithUpdateID("u-1"), client.UntilAccepted()); err != nil {
		r.T.Fatal(err)
	}
	r.Stop(rt)
	r.Start(r.reg)
	for range 2 { // from another process, and again
		if got, err := client.UpdateOf[int](r.handle("main"), "u-1").Wait(ctx); got != 1 || err != nil {
			r.T.Errorf("the update returned %d, %v", got, err)
		}
	}
	sent, err := client.SendUpdate[int](ctx, h, "add", "tea", client.WithUpdateID("u-1"))
	if err != nil {
		r.T.Fatal(err)
	}
	if got, err := sent.Wait(ctx); got != 1 || err != nil || sent.ID() != "u-1" {
		r.T.Errorf("a repeat of %s returned %d, %v", sent.ID(), got, err)
	}
	if _, err := client.Update[int](ctx, h, "add", "milk", client.WithUpdateID("u-1")); !errors.Is(err, client.ErrUpdateDiffers) {
		r.T.Errorf("another update of that ID: %v", err)
	}
	r.Raise(key, "done", none{})
	if got := enginetest.Output[string](r.Engine, key); got != "tea" {
		r.T.Errorf("it ended with %q", got)
	}
	if got, err := client.UpdateOf[int](h, "u-1").Wait(ctx); got != 1 || err != nil {
		r.T.Errorf("after the end the update returned %d, %v", got, err)
	}
}

// handlersOutliveMain: a handler that runs when the main function returns goes on, and its caller gets the outcome. The
// outcome of the instance is that of the return.
func handlersOutliveMain(r *rig) {
	returned := make(chan struct{})
	enginetest.Activity(r.T, r.reg, "held", func(ctx context.Context, _ none) (string, error) {
		select {
		case <-returned:
			return "late", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	_, h := r.begin(filling)
	key, ctx := h.Key(), r.T.Context()
	if _, err := client.Update[string](ctx, h, "late", none{}, client.WithUpdateID("u-1"), client.UntilAccepted()); err != nil {
		r.T.Fatal(err)
	}
	r.Raise(key, "done", none{})
	r.Until("the main function has returned", func() bool { return strings.Contains(kindsOf(r.History(key, 1)), "MainReturned") })
	close(returned)
	if got, err := client.UpdateOf[string](h, "u-1").Wait(ctx); got != "late" || err != nil {
		r.T.Errorf("the update returned %q, %v", got, err)
	}
	if i := r.WaitEnded(key); i.Status != provider.StatusCompleted {
		r.T.Errorf("it ended as %s", i.Status)
	}
	kinds := kindsOf(r.History(key, 1))
	main, done := strings.Index(kinds, "MainReturned"), strings.Index(kinds, "UpdateCompleted")
	if main < 0 || done < main || !strings.HasSuffix(kinds, "ExecutionCompleted") {
		r.T.Errorf("the history is %s", kinds)
	}
}

// handlersAfterMain: while handlers finish, nothing new begins, what the main function had open is cancelled, and the grace
// bounds the wait.
func handlersAfterMain(r *rig) {
	var ended error
	_, h := r.begin(func(ctx *octx, _ none) (string, error) {
		ctx.SetHandlerGrace(100 * time.Millisecond)
		orchestration.HandleUpdate(ctx, "wait", func(ctx *octx, _ none) (none, error) {
			err := ctx.Sleep(time.Hour)
			ended = err
			return none{}, err
		})
		orchestration.StartTimer(ctx, 24*time.Hour)
		return "main", receive(ctx, "done")
	})
	key, ctx := h.Key(), r.T.Context()
	if _, err := client.Update[none](ctx, h, "wait", none{}, client.WithUpdateID("u-1"), client.UntilAccepted()); err != nil {
		r.T.Fatal(err)
	}
	r.Raise(key, "done", none{})
	r.Until("main has returned", func() bool { return strings.Contains(kindsOf(r.History(key, 1)), "MainReturned") })
	if got := enginetest.Output[string](r.Engine, key); got != "main" {
		r.T.Errorf("it ended with %q", got)
	}
	if _, err := client.UpdateOf[none](h, "u-1").Wait(ctx); !errors.Is(err, client.ErrUpdateFailed) || ended == nil {
		r.T.Errorf("the handler beyond the grace: %v, caller %v", ended, err)
	}
	cancelled := 0
	for _, e := range r.History(key, 1) {
		if e.Body.Kind() == history.KindTimerCancelled {
			cancelled++
		}
	}
	if cancelled == 0 {
		r.T.Error("the timer of main was not cancelled")
	}
	if _, err := client.Update[none](ctx, h, "wait", none{}); !errors.Is(err, client.ErrEnded) {
		r.T.Errorf("an update after the end: %v", err)
	}
}

// unhandledMessages: an event that nobody took is counted at the end. An update that came before its handler waits for it.
func unhandledMessages(r *rig) {
	rt, h := r.begin(func(ctx *octx, _ none) (string, error) {
		var got string
		orchestration.HandleUpdate(ctx, "early", func(_ *octx, in string) (none, error) {
			got = in
			return none{}, nil
		})
		err := receive(ctx, "done")
		return got, err
	}, client.WithDelay(100*time.Millisecond))
	r.Raise(h.Key(), "nobody", none{})
	u, err := client.SendUpdate[none](r.T.Context(), h, "early", "first")
	if err != nil {
		r.T.Fatal(err)
	}
	if _, err := u.Wait(r.T.Context()); err != nil {
		r.T.Errorf("an early update: %v", err)
	}
	r.Raise(h.Key(), "done", none{})
	if got := enginetest.Output[string](r.Engine, h.Key()); got != "first" {
		r.T.Errorf("it ended with %q", got)
	}
	r.Until("the unread event is counted", func() bool { return rt.Stats().EventsUnread == 1 })
}
