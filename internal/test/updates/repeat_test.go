package updates

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// each runs a test on a place of each kind.
func each(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newPlace(t, open(t)))
		})
	}
}

func start(t *testing.T, p *place, opts ...client.StartOption) client.Handle[int] {
	t.Helper()
	h, err := client.Start(t.Context(), p.c, p.code, 0, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// finish lets an instance end.
func finish(t *testing.T, h client.Handle[int]) {
	t.Helper()
	if err := h.Raise(t.Context(), "main", "end"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// tells waits for an update of StartAndUpdate and compares its outcome.
func tells(t *testing.T, what string, u client.UpdateHandle[string], err error) {
	t.Helper()
	out := ""
	if err == nil {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		out, err = u.Wait(ctx)
	}
	if err != nil || out != theUpdate {
		t.Fatalf("%s: %q, %v", what, out, err)
	}
}

// A repeat of StartAndUpdate gets the outcome of the first call, with whatever ID it is repeated, also when the instance has ended.
func TestHazard51_StartAndUpdateIsRepeated(t *testing.T) {
	t.Parallel()
	existing, uid, rid := client.WithIDPolicy(client.UseExisting), client.WithUpdateID("mine"), client.WithRequestID("r")
	each(t, func(t *testing.T, p *place) {
		for n, opts := range [][]client.StartOption{{rid}, {uid, rid}, {existing, uid}, {existing, uid, rid}, {existing, rid}} {
			for _, before := range []bool{false, true} {
				id := fmt.Sprint(n, before)
				opts := append(opts, client.WithID(id)) // a new list
				if before && n >= 2 {                   // the policy takes what another call has started
					start(t, p, client.WithID(id))
				}
				for try := range 3 {
					h, u, err := client.StartAndUpdate[string](t.Context(), p.c, p.code, 0, "quick", theUpdate, opts...)
					tells(t, fmt.Sprint(id, " try ", try), u, err)
					if try == 1 {
						finish(t, h)
					}
				}
				if got := received(t, p, id); got != 1 {
					t.Errorf("%s: %d updates were received, want 1", id, got)
				}
			}
		}
	})
}

// received counts the updates in the history of an instance.
func received(t *testing.T, p *place, id string) (n int) {
	t.Helper()
	h, err := client.Lookup[int](t.Context(), p.c, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.History(h.Key(), 1) {
		if e.Body.Kind() == history.KindUpdateReceived {
			n++
		}
	}
	return n
}

// A start under a request ID that was used without the update, or with another one, sends the update all the same.
func TestHazard51_AStartThatIsRepeatedWithAnUpdate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		id, rid := client.WithID("a"), client.WithRequestID("r")
		h := start(t, p, id, rid)
		for _, uid := range []string{"first", "second", "first"} {
			_, u, err := client.StartAndUpdate[string](t.Context(), p.c, p.code, 0, "quick", theUpdate, id, rid, client.WithUpdateID(uid))
			tells(t, uid, u, err)
		}
		finish(t, h)
		_, u, err := client.StartAndUpdate[string](t.Context(), p.c, p.code, 0, "quick", theUpdate, id, rid, client.WithUpdateID("third"))
		if err == nil {
			_, err = u.Wait(t.Context())
		}
		if !errors.Is(err, client.ErrEnded) {
			t.Errorf("an update that came after the end: %v", err)
		}
		if got := received(t, p, "a"); got != 2 {
			t.Errorf("%d updates were received, want 2", got)
		}
	})
}

// sending lets a test act around the sends of a client.
type sending struct {
	*provider.Full

	send func(ctx context.Context, req provider.SendRequest) (provider.SendResult, error)
}

func (s *sending) Unwrap() provider.Provider { return s.Full }

func (s *sending) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	return s.send(ctx, req)
}

// A repeat that looked for the update before it was taken, and sends it after the end, gets its outcome. So does a client whose first try was
// stored although it seemed to fail.
func TestHazard51_TheEndComesBetweenTwoTries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		for _, lost := range []bool{false, true} {
			h := start(t, p, client.WithID(fmt.Sprint("lost ", lost)))
			ctx, tries := t.Context(), 0
			s := &sending{Full: p.Store}
			s.send = func(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
				if tries++; tries > 1 {
					return p.Store.Send(ctx, req)
				}
				if lost {
					if _, err := p.Store.Send(ctx, req); err != nil {
						t.Error(err)
					}
					p.Until("the update is done", func() bool { return p.hasRun(h.ID()) })
				} else if _, err := client.Update[string](ctx, h, "quick", theUpdate, client.WithUpdateID("mine")); err != nil {
					t.Error(err)
				}
				finish(t, h) //nolint:contextcheck // that of the test
				if lost {
					return provider.SendResult{}, context.DeadlineExceeded
				}
				return p.Store.Send(ctx, req)
			}
			c, err := client.New(s, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var opts []client.UpdateOption
			if !lost {
				opts = append(opts, client.WithUpdateID("mine"))
			}
			out, err := client.Update[string](ctx, client.HandleOf[int](c, h.ID(), h.Key()), "quick", theUpdate, opts...)
			if err != nil || out != theUpdate {
				t.Errorf("lost %v: %q, %v", lost, out, err)
			}
		}
	})
}

// A repeat that comes behind the end keeps the outcome that the first caller was told, though that left no event.
func TestHazard51_RepeatsBehindTheEndKeepTheirOutcome(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		ctx, h := t.Context(), start(t, p)
		u, err := client.SendUpdate[string](ctx, h, "quick", refused, client.WithUpdateID("mine"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Wait(ctx); !errors.Is(err, client.ErrRejected) {
			t.Fatal(err)
		}
		if err := h.Suspend(ctx, ""); err != nil {
			t.Fatal(err)
		}
		if err := h.Raise(ctx, "main", "end"); err != nil {
			t.Fatal(err)
		}
		// The first update behind the event makes the code run, and end, before those that follow.
		if _, err := client.SendUpdate[string](ctx, h, "quick", "other"); err != nil {
			t.Fatal(err)
		}
		// A process that looked for the update before it was refused sends it again.
		body := &history.UpdateReceived{Name: "quick", ID: "mine", Input: []byte(`"bad"`)}
		late := provider.NewMessage{Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body})}
		if _, err := p.Store.Send(ctx, provider.SendRequest{Key: h.Key(), Message: late}); err != nil {
			t.Fatal(err)
		}
		if err := h.Resume(ctx, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := u.Wait(ctx); !errors.Is(err, client.ErrRejected) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A fork has taken the updates of its prefix, whose outcomes it does not have. Its end does not say that they have not run.
func TestHazard51_UpdatesInThePrefixOfAFork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		ctx, h := t.Context(), start(t, p)
		if _, err := client.Update[string](ctx, h, "quick", theUpdate, client.WithUpdateID("mine")); err != nil {
			t.Fatal(err)
		}
		f, err := client.Fork(ctx, h, int64(len(p.History(h.Key(), 1)))+1, "fork")
		if err != nil {
			t.Fatal(err)
		}
		finish(t, f)
		if _, err := client.UpdateOf[string](f, "mine").Wait(ctx); !errors.Is(err, client.ErrOutcomeGone) {
			t.Errorf("an update in the prefix: %v", err)
		}
		if _, err := client.Update[string](ctx, f, "quick", theUpdate, client.WithUpdateID("mine")); !errors.Is(err, client.ErrOutcomeGone) {
			t.Errorf("its repeat: %v", err)
		}
		if _, err := client.UpdateOf[string](f, "never").Wait(ctx); !errors.Is(err, client.ErrEnded) {
			t.Errorf("an update that was never sent: %v", err)
		}
		if err := h.Terminate(ctx, ""); err != nil {
			t.Fatal(err)
		}
	})
}

// Who was told that the instance ended before the update is not surprised by a reset: the update does not run then either.
func TestHazard58_ResetsRunNoUpdateOfATerminatedInstance(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		ctx, h := t.Context(), start(t, p, client.WithID("a"))
		for _, update := range []string{"waits", "quick"} { // the second one waits in the inbox
			if update == "quick" {
				if err := h.Suspend(ctx, ""); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := client.SendUpdate[string](ctx, h, update, "x", client.WithUpdateID(update)); err != nil {
				t.Fatal(err)
			}
			if update == "waits" {
				p.stage(h.Key(), update, history.UpdateRunning)
			}
		}
		if err := h.Terminate(ctx, ""); err != nil {
			t.Fatal(err)
		}
		for update, want := range map[string]error{"waits": client.ErrAbandoned, "quick": client.ErrEnded} {
			if _, err := client.UpdateOf[string](h, update).Wait(ctx); !errors.Is(err, want) {
				t.Errorf("%s after Terminate: %v", update, err)
			}
		}
		if _, err := client.Reset(ctx, h, 1); err != nil {
			t.Fatal(err)
		}
		if err := h.Raise(ctx, "go", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := client.UpdateOf[string](h, "waits").Wait(ctx); !errors.Is(err, client.ErrDiscarded) {
			t.Errorf("after the reset: %v", err)
		}
		finish(t, h)
		if got := received(t, p, "a"); got != 1 {
			t.Errorf("the first execution received %d updates", got)
		}
		for _, e := range p.History(h.Key(), 2) {
			if e.Body.Kind() == history.KindUpdateReceived {
				t.Error("the second execution received an update")
			}
		}
	})
}

// Who waits for an instance that moves to another store is told so.
func TestHazard69_WaitsEndAtTheMove(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		p := newPlaceOn(e)
		h, err := client.Start(e.T.Context(), p.c, p.code, 0, client.WithID("a"))
		if err != nil {
			e.T.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(e.T.Context(), time.Hour) // virtual
		defer cancel()
		told := make(chan error, 2)
		go func() {
			_, err := h.Wait(ctx)
			told <- err
		}()
		go func() {
			_, err := client.UpdateOf[string](h, "never").Wait(ctx)
			told <- err
		}()
		var file bytes.Buffer
		if _, err := operate.New(p.c).Export(e.T.Context(), &file, operate.ExportOptions{IDs: []string{"a"}, Seal: true}); err != nil {
			e.T.Fatal(err)
		}
		for range 2 {
			if err := <-told; !errors.Is(err, client.ErrMoved) {
				e.T.Errorf("told %v", err)
			}
		}
	})
}

// An update of a blocked instance need not wait until somebody mends that. It stays sent.
func TestUpdateOrBlocked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		ctx, h := t.Context(), start(t, p)
		if err := h.Raise(ctx, "main", "break"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := client.Update[string](ctx, h, "quick", theUpdate, client.WithUpdateID("mine"), client.OrBlocked())
			if blocked, ok := errors.AsType[*client.BlockedError](err); !ok || blocked.Reason != "panic" {
				t.Fatalf("the update of a blocked instance: %v", err)
			}
			text := err.Error() // not the stack, but its first place in the user's code
			if strings.Contains(text, "\n") || !strings.Contains(text, "taker (") || !strings.Contains(text, "main_test.go:") {
				t.Errorf("the text: %s", text)
			}
		}
		if _, err := h.Wait(ctx, client.OrBlocked()); !errors.Is(err, client.ErrBlocked) {
			t.Error(err)
		}
		if err := h.Terminate(ctx, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := client.UpdateOf[string](h, "mine").Wait(ctx, client.OrBlocked()); !errors.Is(err, client.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
	})
}
