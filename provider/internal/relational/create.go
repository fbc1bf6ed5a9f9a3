package relational

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

func (r *Rival) exists() error {
	return &provider.ExistsError{ID: r.ID, Key: r.Key, Status: r.Status}
}

// rivals finds what a new instance collides with, as the transaction has it.
func (t *Tx) rivals(req *provider.CreateRequest) (sameID, sameKey *Rival, err error) {
	sameID, sameKey, err = t.Rows.Rivals(req.ID, req.Key)
	for _, r := range []*Rival{sameID, sameKey} {
		if r == nil {
			continue
		}
		if h := t.Heads[r.Key]; h != nil { // what this group did may not be written yet
			r.Status, r.Deleting = h.Status, h.Deleting
		}
	}
	return sameID, sameKey, err
}

// Create stores an instance, or answers the one that holds the ID.
func (t *Tx) Create(req *provider.CreateRequest, res *provider.CreateResult) error {
	existing, err := t.create(req)
	if err != nil {
		return err
	}
	res.Now = t.Now
	if existing == nil {
		res.Created, res.Instance = true, t.created(req)
	} else {
		res.Created = repeats(req, existing)
		if res.Instance, err = t.Row(existing.Key); err != nil {
			return err
		}
	}
	res.Begun = begun(&res.Instance, req)
	return nil
}

// create inserts an instance, unless it answers the one that is there already and stays.
func (t *Tx) create(req *provider.CreateRequest) (existing *Rival, err error) {
	old, sameKey, err := t.rivals(req)
	if err != nil {
		return nil, err
	}
	if old != nil {
		switch {
		case repeats(req, old) || req.Policy == provider.IDUseExisting && !old.Deleting:
			return old, nil
		case req.Policy != provider.IDReplaceEnded || old.Deleting || !old.Status.Ended():
			return nil, old.exists()
		}
	}
	if sameKey != nil { // keys are never used again
		return nil, sameKey.exists()
	}
	if err := t.checkParent(req.Parent.Key); err != nil {
		return nil, err
	}
	if old != nil {
		if err := t.Rows.Retire(old.Key); err != nil {
			return nil, err
		}
		t.Changes++
	}
	if rows, can := t.Rows.(BirthRows); can && req.First != nil {
		return nil, t.bear(rows, req)
	}
	return nil, t.insert(req)
}

// repeats tells whether a request made the instance that is there.
func repeats(req *provider.CreateRequest, old *Rival) bool {
	return req.RequestID != "" && req.RequestID == old.Request
}

// checkParent refuses a child of an instance that is gone or being deleted: nobody would
// remove it.
func (t *Tx) checkParent(key provider.UUID) error {
	if key.IsZero() {
		return nil
	}
	parent, err := t.Head(key)
	if err == nil && (parent == nil || parent.Deleting) {
		err = fmt.Errorf("the parent %s: %w", key, provider.ErrNotFound)
	}
	return err
}

func (t *Tx) insert(req *provider.CreateRequest) error {
	kind, err := t.turnKind(TurnKind{provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion}, req.EngineLevel})
	if err != nil {
		return err
	}
	m := &req.Message
	at := t.Now.Add(m.Delay)
	h := &Head{
		Key: req.Key, ID: req.ID, Kind: kind, Status: provider.StatusRunning, Execution: 1, Version: req.Commit, Parent: req.Parent,
		UpdatedAt: t.Now, ReadyAt: at, Inbox: 1, InboxBytes: int64(len(m.Payload)), NextMessage: 2, FetchAt: at,
	}
	t.Changes++
	if err := t.Rows.InsertInstance(h, req); err != nil {
		return err
	}
	first := Message{Place: Place{VisibleAt: at, ID: 1}, Kind: m.Kind, Execution: m.Execution, EventID: m.EventID, Payload: m.Payload}
	if err := t.Rows.PutMessage(h.Key, &first); err != nil {
		return err
	}
	t.adopt(h)
	t.announce(h)
	return t.setAttributes(h.Key, req.Attributes)
}

// adopt takes up the head of an instance that is new.
func (t *Tx) adopt(h *Head) {
	t.remember(h.Key, &Head{}) // there was none
	t.Heads[h.Key] = h
}

func (t *Tx) setAttributes(key provider.UUID, list []provider.Attribute) error {
	if len(list) == 0 {
		return nil
	}
	t.Changes++
	return t.Rows.SetAttributes(key, list)
}

// created is the row as it was just written.
func (t *Tx) created(req *provider.CreateRequest) provider.Instance {
	h := t.Heads[req.Key]
	in := provider.Instance{
		ID: req.ID, Key: req.Key, Name: req.Name, CodeVersion: req.CodeVersion, Status: h.Status,
		Execution: h.Execution, Version: h.Version, HistoryLength: h.Length, HistoryBytes: h.Bytes, EngineLevel: req.EngineLevel,
		Parent: req.Parent, RequestID: req.RequestID, Attributes: sortedAttributes(req.Attributes), CreatedAt: t.Now, UpdatedAt: h.UpdatedAt,
		ReadyAt: h.ReadyAt, InboxMessages: h.Inbox,
	}
	if begun(&in, req) {
		describeBirth(&in, req)
	}
	return in
}

// sortedAttributes answers them as they are stored: by name, of which each counts as it was last given.
func sortedAttributes(list []provider.Attribute) []provider.Attribute {
	list = slices.Clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b provider.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b provider.Attribute) bool { return a.Name == b.Name })
}

// isRefusal tells whether a start was refused for a reason that its parent is told.
func isRefusal(err error) bool {
	return isAny(err, provider.ErrExists, provider.ErrNotFound)
}
