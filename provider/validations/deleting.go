package validations

import (
	"context"
	"errors"

	"github.com/perdure/perdure/provider"
)

// beginTree makes an instance with many children, so that its deletion takes a while.
func beginTree(t *trial) provider.Instance {
	children := make([]func(*provider.Start), 26)
	for n := range children {
		children[n] = func(*provider.Start) {}
	}
	return beginFamily(t, children...)
}

// deleteRefuses checks that once one call finds the instance deleted, all calls do.
func deleteRefuses(t *trial) {
	root := beginTree(t)
	sent := make(chan struct{})
	t.parallel(2, func(n int) {
		if n == 0 {
			awaitRace(t, sent)
			t.remove(root.Key, true)
			return
		}
		for k := 0; ; k++ {
			_, err := t.Send(t.ctx, provider.SendRequest{Key: root.Key, Message: text("m")})
			if k == 0 {
				close(sent)
			}
			if err != nil {
				t.want(err, provider.ErrNotFound)
				break
			}
			t.pass(blink)
		}
		t.noTurn("the instance is being deleted", named("parent"))
		_, err := t.CommitTurn(t.ctx, next(root, "event"))
		t.want(err, provider.ErrConflict)
		child := createRequest("late")
		child.Parent = provider.Parent{Key: root.Key, ID: root.ID, Execution: 1, EventID: 9}
		_, err = t.Create(t.ctx, child)
		t.checkf(err != nil && provider.OutcomeOf(err) == provider.OutcomeNothing, "a start under the parent returned %v, want an error with outcome nothing", err)
	})
}

// awaitRace waits until the channel is closed, unless callers run one after the other.
func awaitRace(t *trial, c <-chan struct{}) {
	if t.inTurn {
		return
	}
	select {
	case <-c:
	case <-t.ctx.Done():
	}
}

// deleteAndCreate checks that an instance holds its ID until it is gone, and that its successor keeps the ID.
func deleteAndCreate(t *trial) {
	root := beginTree(t)
	keys := make(chan provider.UUID, 1)
	t.parallel(2, func(n int) {
		if n == 0 {
			t.remove(root.Key, true)
			return
		}
		for {
			req := createRequest(root.ID)
			_, err := t.Create(t.ctx, req)
			if err == nil {
				keys <- req.Key
				return
			}
			t.want(err, provider.ErrExists)
			t.pass(blink)
		}
	})
	t.mustf(len(keys) == 1, "%d creates got the ID, want 1", len(keys))
	key := <-keys
	is(t, "the key under the ID", t.byID(root.ID).Key, key)
	u := t.fetchOne()
	t.checkf(u.Instance.Key == key && u.payloads() == "start", "fetched %s with %q, want %s and \"start\"", u.Instance.Key, u.payloads(), key)
}

// deleteResumes checks that a second call finishes a cancelled delete.
func deleteResumes(t *trial) {
	root := beginTree(t)
	members := []provider.UUID{root.Key, t.byID("a").Key, t.byID("z").Key}
	for range 5 {
		ctx, cancel := context.WithCancel(t.ctx)
		t.parallel(2, func(n int) {
			if n == 1 {
				cancel()
				return
			}
			_, err := t.Delete(ctx, provider.DeleteRequest{Key: root.Key, Force: true})
			given := err == nil || errors.Is(err, context.Canceled) || errors.Is(err, provider.ErrNotFound)
			t.checkf(given || provider.OutcomeOf(err) == provider.OutcomeUnknown, "got error %v, want none or one with outcome unknown", err)
		})
		cancel()
	}
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: root.Key, Force: true})
	if err != nil {
		t.want(err, provider.ErrNotFound)
	}
	for _, key := range members {
		t.gone(key)
	}
	n, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{Replaced: true}})
	t.ok(err)
	t.checkf(n.Count == 0, "%d instances remain, want 0", n.Count)
	_, err = t.Delete(t.ctx, provider.DeleteRequest{ID: root.ID})
	t.want(err, provider.ErrNotFound)
}
