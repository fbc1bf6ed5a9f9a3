package client_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// family starts a parent, a child by its event 2, and a grandchild by the child's event 2.
func (w *world) family() (parent, child, grandchild client.Handle[receipt]) {
	w.t.Helper()
	parent = w.Start(client.WithID("parent"))
	child = w.child(parent, "child")
	return parent, child, w.child(child, "grandchild")
}

func (w *world) child(parent client.Handle[receipt], id string) client.Handle[receipt] {
	w.t.Helper()
	w.Commit(parent.Key(), func(req *provider.CommitTurnRequest) {
		req.Starts = []provider.Start{{Create: provider.CreateRequest{
			ID: id, Key: provider.UUID(uuid.New()), Commit: provider.UUID(uuid.New()), Name: "Child", EngineLevel: 1,
			Parent: provider.Parent{Key: parent.Key(), ID: parent.ID(), Execution: 1, EventID: 2},
			Message: provider.NewMessage{
				Kind:    provider.MessageKind(history.KindExecutionStarted),
				Payload: history.Encode(nil, history.Event{Body: &history.ExecutionStarted{Name: "Child"}}),
			},
		}}}
	}, &history.ChildStarted{Name: "Child", ID: id})
	h, err := client.Lookup[receipt](w.t.Context(), w.Client, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func TestTerminate(t *testing.T) {
	w := newWorld(t, client.Options{})
	parent, child, grandchild := w.family()
	if err := child.Terminate(t.Context(), "stuck"); err != nil {
		t.Fatal(err)
	}
	_, err := child.Wait(t.Context())
	want(t, err, `instance "child" ended as Terminated: terminated: stuck`, client.ErrFailed, orchestration.ErrTerminated)

	notice, ok := w.Inbox(parent.Key())[0].(*history.ChildFailed)
	if !ok || notice.Started != 2 || notice.Failure.Code != "terminated" || notice.Failure.Message != "terminated: stuck" {
		t.Errorf("the parent got %+v", notice)
	}
	if turn := w.Fetch(parent.Key()); turn.Messages[0].EventID != 2 || turn.Messages[0].Execution != 1 {
		t.Errorf("the parent got %+v", turn.Messages[0])
	}
	cancel, ok := w.Inbox(grandchild.Key())[1].(*history.CancelRequested)
	if !ok || cancel.RequestID == "" || cancel.Reason != "its parent child was terminated" {
		t.Errorf("the grandchild got %+v", cancel)
	}
	var last client.HistoryEvent
	for e, err := range child.History(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.Kind != "ExecutionTerminated" || last.Reason != "stuck" || last.ID != 3 {
		t.Errorf("last event %+v", last)
	}
}

func TestTerminateWithoutReason(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("a"))
	if err := w.Terminate(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	_, err := h.Wait(t.Context())
	want(t, err, `instance "a" ended as Terminated: terminated`, client.ErrFailed, orchestration.ErrTerminated)
}

func TestTerminateUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{})
		parent, child, grandchild := w.family()
		w.Lose(faulty.Steer, 3)
		if err := child.Terminate(t.Context(), "stuck"); err != nil {
			t.Fatal(err)
		}
		if p, g := len(w.Inbox(parent.Key())), len(w.Inbox(grandchild.Key())); p != 1 || g != 2 {
			t.Errorf("notices were repeated: parent %d, grandchild %d", p, g)
		}
		if n := w.Get(child.Key()).HistoryLength; n != 3 {
			t.Errorf("history has %d events", n)
		}
	})
}

// A terminated instance stays as it ended.
func TestTerminateEnded(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start()
	if err := h.Terminate(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if err := h.Terminate(t.Context(), "two"); !errors.Is(err, client.ErrEnded) {
		t.Errorf("got %v", err)
	}
}

// The event of a termination has the storage's time of then, also if it is the first of the history.
func TestTimeOfTermination(t *testing.T) {
	for name, began := range map[string]bool{"before the first turn": false, "after a turn": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, client.Options{})
				h := w.Start(client.WithID("stuck"))
				if began {
					w.Commit(h.Key(), func(*provider.CommitTurnRequest) {})
				}
				time.Sleep(time.Hour) //nolint:forbidigo // virtual time
				from := time.Now().UTC()
				if err := h.Terminate(t.Context(), "stuck"); err != nil {
					t.Fatal(err)
				}
				var last client.HistoryEvent
				for e, err := range h.History(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					last = e
				}
				if ended := w.Get(h.Key()).EndedAt.Std(); last.Kind != "ExecutionTerminated" || last.Time.Before(from) || last.Time.After(ended) {
					t.Errorf("%s at %v, terminated at %v, ended at %v", last.Kind, last.Time, from, ended)
				}
			})
		})
	}
}
