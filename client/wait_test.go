package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

var errDeclined = errors.New("card declined")

func declined(t *testing.T) *orchestration.Errors {
	t.Helper()
	set := orchestration.NewErrors()
	if err := bind.SetOf(set).AddSentinel("declined", errDeclined); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestWaitBlocksUntilEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start()
		begin := time.Now()
		go func() {
			<-time.After(100 * time.Second) // over several slices
			w.Complete(h.Key(), `{"Number":7}`)
		}()
		r, err := h.Wait(t.Context())
		if err != nil || r.Number != 7 || time.Since(begin) != 100*time.Second {
			t.Errorf("after %v got %+v, %v", time.Since(begin), r, err)
		}
		if r, err = h.Wait(t.Context()); err != nil || r.Number != 7 {
			t.Errorf("once more: %+v, %v", r, err)
		}
	})
}

func TestWaitFailure(t *testing.T) {
	errs := declined(t)
	w := newWorld(t, client.Options{Errors: errs})
	h := w.Start(client.WithID("a"))
	f := bind.SetOf(errs).Encode(fmt.Errorf("charging: %w", errDeclined))
	w.End(h.Key(), provider.StatusFailed, history.Outcome{Failure: &f})
	_, err := h.Wait(t.Context())
	want(t, err, `instance "a" ended as Failed: charging: card declined`, client.ErrFailed, errDeclined)
	if e, ok := errors.AsType[*orchestration.Error](err); !ok || e.Message != "charging: card declined" {
		t.Errorf("got %#v", err)
	}
}

func TestWaitCancelled(t *testing.T) {
	w := newWorld(t, client.Options{})
	for name, cause := range map[string]error{
		"bare": orchestration.ErrCancelled, "wrapped": fmt.Errorf("stopping: %w", orchestration.ErrCancelled), "lost": errors.New("stopping"),
	} {
		h := w.Start(client.WithID(name))
		f := (*failure.Set)(nil).Encode(cause)
		w.End(h.Key(), provider.StatusCancelled, history.Outcome{Failure: &f})
		if _, err := h.Wait(t.Context()); !errors.Is(err, orchestration.ErrCancelled) || !errors.Is(err, client.ErrFailed) ||
			errors.Is(err, orchestration.ErrTerminated) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestWaitUnreadable(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	w.Complete(h.Key(), `"text"`)
	_, err := h.Wait(t.Context())
	if !errors.Is(err, orchestration.ErrPayload) || errors.Is(err, client.ErrFailed) {
		t.Errorf("got %v", err)
	}
	newer := w.Start(client.WithID("b"))
	w.Commit(newer.Key(), func(req *provider.CommitTurnRequest) { req.Status, req.Result = provider.StatusCompleted, []byte{99} })
	_, err = newer.Wait(t.Context())
	want(t, err, `instance "b" has ended (Completed), but its result cannot be read: written by a newer release of perdure: upgrade this node`,
		history.ErrNewer)
	d, err := newer.Describe(t.Context())
	if err != nil || d.Unreadable == "" || d.Status != client.StatusCompleted {
		t.Errorf("described as %+v, %v", d, err)
	}
	empty := w.Start()
	w.Commit(empty.Key(), func(req *provider.CommitTurnRequest) {
		req.Status, req.Result = provider.StatusFailed, history.EncodeOutcome(history.Outcome{})
	})
	if _, err = empty.Wait(t.Context()); !errors.Is(err, client.ErrFailed) {
		t.Errorf("got %v", err)
	}
}

func TestWaitContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start(client.WithID("a"))
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		_, err := h.Wait(ctx)
		want(t, err, `waiting for instance "a": context deadline exceeded`, context.DeadlineExceeded)
		if errors.Is(err, client.ErrOutcomeUnknown) {
			t.Error("a wait changes nothing")
		}
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errors.New("bored"))
		_, err = h.Wait(ctx)
		want(t, err, `waiting for instance "a": context canceled: bored`, context.Canceled)
	})
}

func TestWaitOverOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start()
		w.Complete(h.Key(), `{"Number":7}`)
		w.plan.StartOutage()
		go func() {
			<-time.After(time.Hour)
			w.plan.EndOutage()
		}()
		if r, err := h.Wait(t.Context()); err != nil || r.Number != 7 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

// A storage that hangs is asked again.
func TestWaitHungStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start()
		w.Complete(h.Key(), `{"Number":7}`)
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Get}, First: 1, Kind: faulty.Delay, Until: make(chan struct{})})
		if r, err := h.Wait(t.Context()); err != nil || r.Number != 7 {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestWaitBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		h := w.Start(client.WithID("a"))
		turn, token, _ := w.Lease(h.Key())
		go func() {
			<-time.After(time.Minute)
			_, _ = w.store.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
				Key: turn.Instance.Key, Token: token, Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: "panic", Message: "boom", Hold: true},
			}}})
		}()
		_, err := h.Wait(t.Context(), client.OrBlocked())
		want(t, err, `instance "a" is blocked (panic, 1 failed turns): boom: mend the cause; it is held until somebody unblocks it`, client.ErrBlocked)
		b, ok := errors.AsType[*client.BlockedError](err)
		if !ok || b.ID != "a" || b.Key != h.Key() || b.Reason != "panic" || !b.RetryAt.IsZero() {
			t.Errorf("got %+v", b)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := h.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without the option: %v", err)
		}
		if _, err := h.Wait(ctx, nil); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("nil option: %v", err)
		}
	})
}

func TestWaitDeleted(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	if _, err := w.store.Delete(t.Context(), provider.DeleteRequest{ID: "a", Force: true}); err != nil {
		t.Fatal(err)
	}
	_, err := h.Wait(t.Context())
	want(t, err, `waiting for instance "a": not found: it never existed or was deleted; check the ID, and that this is the right store`,
		client.ErrNotFound)
}
