package client_test

import (
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
)

// hold makes an instance blocked until somebody unblocks it.
func (w *world) hold(h client.Handle[receipt]) {
	w.t.Helper()
	_, token, _ := w.Lease(h.Key())
	res, err := w.store.ReleaseTurns(w.t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{
		Key: h.Key(), Token: token, Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: "poisoned", Message: "lost", Hold: true},
	}}})
	if err != nil || res.Errs[0] != nil {
		w.t.Fatal(err, res.Errs)
	}
}

func TestUnblock(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("held"))
	w.hold(h)
	w.Lose(faulty.Steer, 1) // the response is lost: the client repeats the call
	if err := w.Unblock(t.Context(), "held"); err != nil {
		t.Fatal(err)
	}
	if i := w.Get(h.Key()); i.Blocked != nil {
		t.Errorf("still blocked: %+v", i.Blocked)
	}
	if turn := w.Fetch(h.Key()); len(turn.Messages) != 1 {
		t.Errorf("the released instance has %d messages", len(turn.Messages))
	}
}

func TestUnblockOfWhatIsNotBlocked(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("fine"))
	before := w.Get(h.Key()).Version
	if err := h.Unblock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := w.Get(h.Key()).Version; after != before {
		t.Error("an instance that is not blocked was changed")
	}
	w.Complete(h.Key(), `{}`)
	want(t, h.Unblock(t.Context()), `unblocking instance "fine": instance has ended (Completed): start a new one or use another ID`, client.ErrEnded)
	want(t, w.Unblock(t.Context(), "nobody"), `unblocking instance "nobody": not found: it never existed or was deleted; `+
		`check the ID, and that this is the right store`, client.ErrNotFound)
}
