package client_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider/faulty"
)

func TestDelete(t *testing.T) {
	w := newWorld(t, client.Options{})
	parent, child, _ := w.family()
	_, err := parent.Delete(t.Context())
	want(t, err, `deleting instance "parent": instance is running: wait for its end, terminate it first, or delete it with client.Force`, client.ErrRunning)
	if err := child.Terminate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	n, err := parent.Delete(t.Context(), client.Force())
	if err != nil || n != 3 {
		t.Errorf("%d %v, want 3 instances deleted", n, err)
	}
	_, err = parent.Delete(t.Context(), client.Force())
	want(t, err, `deleting instance "parent": not found: it never existed or was deleted; check the ID, and that this is the right store`, client.ErrNotFound)
	_, err = w.Delete(t.Context(), "perdure/x")
	if !errors.Is(err, client.ErrInvalid) {
		t.Errorf("deleting an instance of perdure: %v", err)
	}
}

// A delete whose result was lost is repeated, and has deleted the instance.
func TestDeleteAgain(t *testing.T) {
	w := newWorld(t, client.Options{})
	h := w.Start()
	w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Delete}, First: 1, Kind: faulty.After})
	if n, err := h.Delete(t.Context(), client.Force()); err != nil || n != 1 {
		t.Errorf("%d %v, want 1 instance deleted", n, err)
	}
}
