package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	// Both rows that a new instance could collide with; each OR term is one index look-up.
	sqlSameID = `SELECT key, status, deleting, request_id, id, current FROM perdure_instance
		WHERE (id = ? AND current = 1) OR key = ?`
	sqlRetire = `UPDATE perdure_instance SET current = 0 WHERE key = ?`
	sqlCreate = `INSERT INTO perdure_instance (key, id, kind, status, execution, version, request_id, created_at, updated_at,
		ready_at, inbox_messages, inbox_bytes, next_message, fetch_at,
		parent_key, parent_id, parent_execution, parent_event, parent_close)
		VALUES (?, ?, ?, 1, 1, ?, ?, ?, ?, ?, 1, ?, 2, ?, ?, ?, ?, ?, ?)`
	sqlCreateRoot = `INSERT INTO perdure_instance (key, id, kind, status, execution, version, request_id, created_at, updated_at,
		ready_at, inbox_messages, inbox_bytes, next_message, fetch_at)
		VALUES (?, ?, ?, 1, 1, ?, ?, ?, ?, ?, 1, ?, 2, ?)`
)

// Create implements [provider.Provider].
func (p *Provider) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if err := req.Validate(); err != nil {
		return provider.CreateResult{}, err
	}
	return write(ctx, p, "create", len(req.Message.Payload), func(t *tx, res *provider.CreateResult) error {
		return t.create(&req, res)
	})
}

// rival is a stored instance that a new one collides with.
type rival struct {
	key      provider.UUID
	id       string
	status   provider.Status
	deleting bool
	request  string
	found    bool
}

func (r *rival) exists() error {
	return &provider.ExistsError{ID: r.id, Key: r.key, Status: r.status}
}

// rivals finds the instance under the ID, and one that has the key already.
func (t *tx) rivals(req *provider.CreateRequest) (sameID, sameKey rival, err error) {
	err = t.each(sqlSameID, func(r *row) error {
		v := rival{
			key: r.uuid(0), status: provider.Status(r.int(1)), deleting: r.bool(2), request: r.text(3), id: r.text(4), found: true,
		}
		if h := t.heads[v.key]; h != nil { // what this group did is not written yet
			v.status, v.deleting = h.status, h.deleting
		}
		if v.id == req.ID && r.bool(5) {
			sameID = v
		}
		if v.key == req.Key {
			sameKey = v
		}
		return nil
	}, req.ID, req.Key)
	return sameID, sameKey, err
}

// create stores an instance, or answers the one that holds the ID.
func (t *tx) create(req *provider.CreateRequest, res *provider.CreateResult) error {
	old, sameKey, err := t.rivals(req)
	if err != nil {
		return err
	}
	res.Now = t.now
	if old.found {
		repeated := req.RequestID != "" && req.RequestID == old.request
		switch {
		case repeated || req.Policy == provider.IDUseExisting && !old.deleting:
			res.Created = repeated
			res.Instance, err = t.instance(old.key)
			return err
		case req.Policy != provider.IDReplaceEnded || old.deleting || !old.status.Ended():
			return old.exists()
		}
	}
	if sameKey.found { // keys are never used again
		return sameKey.exists()
	}
	if err := t.checkParent(req.Parent.Key); err != nil {
		return err
	}
	if old.found {
		if _, err := t.exec(sqlRetire, old.key); err != nil {
			return err
		}
	}
	if err := t.insert(req); err != nil {
		return err
	}
	res.Created = true
	res.Instance = t.created(req)
	return nil
}

// checkParent refuses a child of an instance that is gone or being deleted: nobody would
// remove it.
func (t *tx) checkParent(key provider.UUID) error {
	if key.IsZero() {
		return nil
	}
	parent, err := t.head(key)
	if err == nil && (parent == nil || parent.deleting) {
		err = fmt.Errorf("the parent %s: %w", key, provider.ErrNotFound)
	}
	return err
}

func (t *tx) insert(req *provider.CreateRequest) error {
	kind, err := t.turnKind(turnKind{provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion}, req.EngineLevel})
	if err != nil {
		return err
	}
	m := &req.Message
	at, size := t.now.Add(m.Delay), len(m.Payload)
	if req.Parent.Key.IsZero() {
		_, err = t.exec(sqlCreateRoot, req.Key, req.ID, kind, req.Commit, req.RequestID, t.now, t.now, at, size, at)
	} else {
		_, err = t.exec(sqlCreate, req.Key, req.ID, kind, req.Commit, req.RequestID, t.now, t.now, at, size, at,
			req.Parent.Key, req.Parent.ID, req.Parent.Execution, req.Parent.EventID, req.Parent.Close)
	}
	if err != nil {
		return err
	}
	if _, err := t.exec(sqlDeliver, req.Key, at, 1, m.Kind, false, m.Execution, m.EventID, m.Payload, checksum(m.Payload)); err != nil {
		return err
	}
	h := &head{
		key: req.Key, id: req.ID, kind: kind, status: provider.StatusRunning, execution: 1, version: req.Commit,
		updatedAt: t.now, readyAt: at, inbox: 1, inboxBytes: int64(size), nextMessage: 2, fetchAt: at,
	}
	t.heads[req.Key] = h
	t.announce(h)
	return t.setAttributes(req.Key, req.Attributes)
}

// created is the row as it was just written.
func (t *tx) created(req *provider.CreateRequest) provider.Instance {
	return provider.Instance{
		ID: req.ID, Key: req.Key, Name: req.Name, CodeVersion: req.CodeVersion, Status: provider.StatusRunning,
		Execution: 1, Version: req.Commit, EngineLevel: req.EngineLevel, Parent: req.Parent, RequestID: req.RequestID,
		Attributes: sortedAttributes(req.Attributes), CreatedAt: t.now, UpdatedAt: t.now,
		ReadyAt: t.now.Add(req.Message.Delay), InboxMessages: 1,
	}
}
