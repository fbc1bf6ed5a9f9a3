package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// deadLetters lists the dead letters of an instance, or of all.
func (w *world) deadLetters(instance string) (all []operate.DeadLetter) {
	w.t.Helper()
	for l, err := range operate.New(w.Client).DeadLetters(w.t.Context(), operate.DeadLetterFilter{Instance: instance}) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// reopen starts a terminated instance anew, so that it takes messages.
func (w *world) reopen(key provider.UUID) {
	w.t.Helper()
	_, err := w.store.Steer(w.t.Context(), provider.SteerRequest{
		Key: key, Action: provider.SteerReset, Commit: provider.UUID(uuid.New()), EngineLevel: replay.EngineLevel,
		Events: [][]byte{history.Encode(nil, history.Event{ID: 1, Body: &history.ExecutionStarted{Name: "Checkout", Settings: replay.SettingsAt(replay.EngineLevel)}})},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

const gone = "there is no such letter; it was redriven, dropped or deleted with its instance"

func TestDeadLetters(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.start(client.WithID("late"))
	w.start(client.WithID("other"))
	w.commit(h.Key(), func(*provider.CommitTurnRequest) {})
	for n := range 45 {
		if err := h.Raise(t.Context(), "paid", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Terminate(t.Context(), "too late"); err != nil {
		t.Fatal(err)
	}
	d, err := w.Describe(t.Context(), "late")
	if err != nil || d.DeadLetters != 45 {
		t.Errorf("described with %d dead letters: %v", d.DeadLetters, err)
	}
	w.lose(faulty.DeadLetters, 1)
	all := w.deadLetters("")
	if len(all) != 45 || len(w.deadLetters("late")) != 45 || len(w.deadLetters("other")) != 0 {
		t.Fatalf("%d letters", len(all))
	}
	if l := all[44]; l.Kind != "EventReceived" || l.Name != "paid" || string(l.Payload) != "44" || l.Instance != "late" || l.InstanceKey != h.Key() {
		t.Errorf("the last one is %+v", l)
	}
	for _, err := range operate.New(w.Client).DeadLetters(t.Context(), operate.DeadLetterFilter{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	want(t, operate.New(w.Client).RedriveDeadLetter(t.Context(), all[0].ID), fmt.Sprintf("redriving dead letter %d: instance has ended (Terminated): "+
		`instance "late" takes nothing back; raise the event to another instance and drop the letter`, all[0].ID), client.ErrEnded)
	w.reopen(h.Key())
	w.lose(faulty.DeadLetters, 1) // the response is lost: the client repeats the call
	if err := operate.New(w.Client).RedriveDeadLetter(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	if bodies := w.inbox(h.Key()); len(bodies) != 1 {
		t.Errorf("the inbox has %d messages", len(bodies))
	}
	w.lose(faulty.DeadLetters, 1)
	if err := operate.New(w.Client).DropDeadLetter(t.Context(), all[1].ID); err != nil {
		t.Fatal(err)
	}
	if left := w.deadLetters("late"); len(left) != 43 {
		t.Errorf("%d letters are left", len(left))
	}
	want(t, operate.New(w.Client).DropDeadLetter(t.Context(), all[1].ID), fmt.Sprintf("dropping dead letter %d: not found: "+gone, all[1].ID), client.ErrNotFound)
	want(t, operate.New(w.Client).RedriveDeadLetter(t.Context(), all[0].ID), fmt.Sprintf("redriving dead letter %d: not found: "+gone, all[0].ID), client.ErrNotFound)
	want(t, operate.New(w.Client).DropDeadLetter(t.Context(), 0), "dropping dead letter 0: invalid request: the ID is 0: give that of a dead letter, 1 or more", client.ErrInvalid)
	for _, err := range operate.New(w.Client).DeadLetters(t.Context(), operate.DeadLetterFilter{Instance: "nobody"}) {
		want(t, err, `listing dead letters of instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, client.ErrNotFound)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range operate.New(w.Client).DeadLetters(stopped, operate.DeadLetterFilter{}) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
