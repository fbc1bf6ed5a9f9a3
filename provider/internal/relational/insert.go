package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// insertion is the start of an instance.
type insertion struct {
	t   *Tx
	req *provider.CreateRequest
}

// admit prepares the insertion of an instance. It returns the instance that exists already if that one stays.
func (n insertion) admit() (existing *Rival, err error) {
	t, req := n.t, n.req
	old, sameKey, err := n.rivals()
	if err != nil {
		return nil, err
	}
	if old != nil {
		switch {
		case n.repeats(old) || req.Policy == provider.IDUseExisting && !old.Deleting:
			return old, nil
		case req.Policy != provider.IDReplaceEnded || old.Deleting || !old.Status.Ended(),
			!req.Replaces.IsZero() && req.Replaces != old.Key:
			return nil, old.exists()
		}
	}
	if sameKey != nil { // keys are never used again
		return nil, sameKey.exists()
	}
	if err := n.checkParent(); err != nil {
		return nil, err
	}
	if old != nil {
		if err = t.Rows.Retire(old.Key); err == nil {
			t.Changes++
		}
	}
	return nil, err
}

// rivals returns the instances that a new one collides with, as the transaction sees them.
func (n insertion) rivals() (sameID, sameKey *Rival, err error) {
	sameID, sameKey, err = n.t.Rows.Rivals(n.req.ID, n.req.Key)
	for _, r := range []*Rival{sameID, sameKey} {
		if r == nil {
			continue
		}
		if h := n.t.Heads[r.Key]; h != nil { // changes of this group may not be written yet
			r.Status, r.Deleting = h.Status, h.Deleting
		}
	}
	return sameID, sameKey, err
}

// repeats reports whether the request is the one that created the existing instance.
func (n insertion) repeats(old *Rival) bool {
	return n.req.RequestID != "" && n.req.RequestID == old.Request
}

func (r *Rival) exists() error {
	return &provider.ExistsError{ID: r.ID, Key: r.Key, Status: r.Status}
}

// checkParent refuses a child of an instance that is gone or being deleted: nobody would remove it.
func (n insertion) checkParent() error {
	key := n.req.Parent.Key
	if key.IsZero() {
		return nil
	}
	parent, err := n.t.Head(key)
	if err == nil && (parent == nil || parent.Deleting) {
		err = fmt.Errorf("the parent %s: %w", key, provider.ErrNotFound)
	}
	return err
}

// insert stores an admitted instance with its start message.
func (n insertion) insert() error {
	t, req := n.t, n.req
	h, err := n.head(startLevel(req))
	if err != nil {
		return err
	}
	m := &req.Message
	at := t.Now.Add(m.Delay)
	h.UpdatedAt, h.ReadyAt, h.FetchAt = t.Now, at, at
	h.Inbox, h.InboxBytes = 1, int64(len(m.Payload))
	t.Changes++
	if err := t.Rows.InsertInstance(h, req); err != nil {
		return err
	}
	first := Message{Place: Place{VisibleAt: at, ID: 1}, Kind: m.Kind, Execution: m.Execution, EventID: m.EventID, Payload: m.Payload}
	if err := t.Rows.PutMessage(h.Key, &first); err != nil {
		return err
	}
	t.adopt(h)
	t.stored(h)
	if err := (inbox{t, h}).deliverAll(req.Messages); err != nil {
		return err
	}
	return n.describe(h)
}

// describe stores what few instances have.
func (n insertion) describe(h *Head) error {
	if n.req.Listener != nil {
		if err := n.t.Rows.SetListener(h.Key, n.req.Listener); err != nil {
			return err
		}
	}
	return setAttributes(n.t, h.Key, n.req.Attributes)
}

// join delivers the messages of a start to the instance that exists, unless an earlier call has done so.
func (n insertion) join(old *Rival) error {
	t, req := n.t, n.req
	if len(req.Messages) == 0 {
		return nil
	}
	h, err := t.Head(old.Key)
	if err != nil {
		return err
	}
	if req.RequestID != "" {
		fresh, err := t.Rows.AddRequest(old.Key, req.RequestID)
		if err != nil || !fresh {
			return err
		}
		t.Changes++
	}
	if err := h.sendable(req.ID, old.Key); err != nil {
		return err
	}
	box := inbox{t, h}
	if err := box.room(req.Messages...); err != nil {
		return err
	}
	return box.deliverAll(req.Messages)
}

// head returns the head of the new instance. Its start message is the first one.
func (n insertion) head(level int64) (*Head, error) {
	req := n.req
	kind, err := turnNumber(n.t.Rows, TurnKind{provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion}, level})
	if err != nil {
		return nil, err
	}
	return &Head{
		Key: req.Key, ID: req.ID, Kind: kind, Status: provider.StatusRunning, Execution: 1, Version: req.Commit, Parent: req.Parent, NextMessage: 2,
		Listened: req.Listener != nil,
	}, nil
}

func setAttributes(t *Tx, key provider.UUID, list []provider.Attribute) error {
	if len(list) == 0 {
		return nil
	}
	t.Changes++
	return t.Rows.SetAttributes(key, list)
}
