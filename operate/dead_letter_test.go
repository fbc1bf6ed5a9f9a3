package operate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// deadLetters lists the dead letters of an instance, or of all.
func deadLetters(w *clienttest.World, instance string) (all []operate.DeadLetter) {
	w.T.Helper()
	for l, err := range operate.New(w.Client).DeadLetters(w.T.Context(), operate.DeadLetterFilter{Instance: instance}) {
		if err != nil {
			w.T.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// reopen starts a terminated instance anew, so that it takes messages.
func reopen(w *clienttest.World, key provider.UUID) {
	w.T.Helper()
	_, err := w.Store.Steer(w.T.Context(), provider.SteerRequest{
		Key: key, Action: provider.SteerReset, Commit: provider.UUID(uuid.New()), EngineLevel: replay.EngineLevel,
		Events: [][]byte{history.Encode(nil, history.Event{ID: 1, Body: &history.ExecutionStarted{Name: "Checkout", Settings: replay.SettingsAt(replay.EngineLevel)}})},
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

const gone = "there is no such letter; it was redriven, dropped or deleted with its instance"

func TestDeadLetters(t *testing.T) {
	w := clienttest.NewWorld(t, client.Options{})
	h := w.Start(client.WithID("late"))
	w.Start(client.WithID("other"))
	w.Commit(h.Key(), func(*provider.CommitTurnRequest) {})
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
	w.Lose(faulty.DeadLetters, 1)
	all := deadLetters(w, "")
	if len(all) != 45 || len(deadLetters(w, "late")) != 45 || len(deadLetters(w, "other")) != 0 {
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
	clienttest.Want(t, operate.New(w.Client).RedriveDeadLetter(t.Context(), all[0].ID), fmt.Sprintf("redriving dead letter %d: instance has ended (Terminated): "+
		`instance "late" takes nothing back; raise the event to another instance and drop the letter`, all[0].ID), client.ErrEnded)
	reopen(w, h.Key())
	w.Lose(faulty.DeadLetters, 1) // the response is lost: the client repeats the call
	if err := operate.New(w.Client).RedriveDeadLetter(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	if bodies := w.Inbox(h.Key()); len(bodies) != 1 {
		t.Errorf("the inbox has %d messages", len(bodies))
	}
	w.Lose(faulty.DeadLetters, 1)
	if err := operate.New(w.Client).DropDeadLetter(t.Context(), all[1].ID); err != nil {
		t.Fatal(err)
	}
	if left := deadLetters(w, "late"); len(left) != 43 {
		t.Errorf("%d letters are left", len(left))
	}
	clienttest.Want(t, operate.New(w.Client).DropDeadLetter(t.Context(), all[1].ID), fmt.Sprintf("dropping dead letter %d: not found: "+gone, all[1].ID), client.ErrNotFound)
	clienttest.Want(t, operate.New(w.Client).RedriveDeadLetter(t.Context(), all[0].ID), fmt.Sprintf("redriving dead letter %d: not found: "+gone, all[0].ID), client.ErrNotFound)
	clienttest.Want(t, operate.New(w.Client).DropDeadLetter(t.Context(), 0), "dropping dead letter 0: invalid request: the ID is 0: give that of a dead letter, 1 or more", client.ErrInvalid)
	for _, err := range operate.New(w.Client).DeadLetters(t.Context(), operate.DeadLetterFilter{Instance: "nobody"}) {
		clienttest.Want(t, err, `listing dead letters of instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, client.ErrNotFound)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range operate.New(w.Client).DeadLetters(stopped, operate.DeadLetterFilter{}) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
