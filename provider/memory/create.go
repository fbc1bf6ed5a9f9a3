package memory

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Create implements provider.Provider.
func (tn *turns) Create(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, err error) {
	err = tn.do(ctx, req, func(now provider.Time) error {
		i, created, err := tn.create(req, now)
		if err != nil {
			return err
		}
		res = provider.CreateResult{Instance: i.view(), Created: created, Begun: req.First != nil && i.row.Version == req.First.Commit, Now: now}
		return nil
	})
	return res, err
}

// create inserts an instance with its start message or its first turn.
func (tn *turns) create(req provider.CreateRequest, now provider.Time) (i *instance, created bool, err error) {
	i, fresh, err := tn.insert(&req, now)
	switch {
	case err != nil:
		return nil, false, err
	case !fresh && req.RequestID != "" && req.RequestID == i.row.RequestID:
		return i, true, nil
	case !fresh:
		return i, false, tn.join(i, &req, now)
	case req.First != nil: // it has consumed the start message, and nothing can refuse it
		tn.apply(i, req.First, now)
	default:
		tn.inboxes.put(i, req.Message, now)
		tn.inboxes.putAll(i, req.Messages, now)
	}
	return i, true, nil
}

// insert inserts an instance, unless the one that has the ID stays. No other function does.
func (tn *turns) insert(req *provider.CreateRequest, now provider.Time) (i *instance, fresh bool, err error) {
	if old := tn.instances.current[req.ID]; old != nil {
		switch {
		case req.RequestID != "" && req.RequestID == old.row.RequestID || req.Policy == provider.IDUseExisting && !old.row.Deleting:
			return old, false, nil
		case req.Policy != provider.IDReplaceEnded || !old.row.Status.Ended(),
			!req.Replaces.IsZero() && req.Replaces != old.row.Key:
			return nil, false, exists(old)
		}
	}
	if other := tn.instances.byKey[req.Key]; other != nil {
		return nil, false, exists(other)
	}
	if key := req.Parent.Key; !key.IsZero() {
		if parent := tn.instances.byKey[key]; parent == nil || parent.row.Deleting {
			return nil, false, provider.ErrNotFound
		}
	}
	i = &instance{
		row: provider.Instance{
			ID: req.ID, Key: req.Key, Name: req.Name, CodeVersion: req.CodeVersion, Status: provider.StatusRunning,
			Version: req.Commit, Parent: req.Parent, RequestID: req.RequestID, CreatedAt: now, UpdatedAt: now,
		},
		attributes: map[string]provider.Attribute{},
		values:     map[string][]byte{},
	}
	if req.Listener != nil {
		listener := *req.Listener
		listener.Message.Payload = slices.Clone(listener.Message.Payload)
		i.listener = &listener
	}
	i.open(startLevel(req), nil)
	i.setAttributes(req.Attributes)
	tn.instances.byKey[req.Key], tn.instances.current[req.ID], tn.instances.live[req.Key] = i, i, i
	if parent := req.Parent.Key; !parent.IsZero() {
		tn.instances.children[parent] = append(tn.instances.children[parent], i)
	}
	tn.write()
	return i, true, nil
}

// startLevel is the engine level of a new instance. A first turn has consumed the messages and still needs it.
func startLevel(req *provider.CreateRequest) int64 {
	level := max(req.EngineLevel, req.Message.EngineLevel)
	for n := range req.Messages {
		level = max(level, req.Messages[n].EngineLevel)
	}
	return level
}

// join delivers the messages of a start to the instance that exists, unless an earlier call has done so.
func (tn *turns) join(i *instance, req *provider.CreateRequest, now provider.Time) error {
	switch {
	case len(req.Messages) == 0 || req.RequestID != "" && slices.Contains(i.requests, req.RequestID):
		return nil
	case i.row.Status.Ended():
		return provider.ErrEnded
	case !i.room(req.Messages...):
		return provider.ErrInboxFull
	}
	if req.RequestID != "" {
		if len(i.requests) == provider.MaxRequests {
			i.requests = i.requests[1:]
		}
		i.requests = append(i.requests, req.RequestID)
	}
	tn.inboxes.putAll(i, req.Messages, now)
	return nil
}

func exists(i *instance) error {
	return &provider.ExistsError{ID: i.row.ID, Key: i.row.Key, Status: i.row.Status}
}

// Send implements provider.Provider.
func (tn *turns) Send(ctx context.Context, req provider.SendRequest) (res provider.SendResult, err error) {
	err = tn.do(ctx, req, func(now provider.Time) error {
		i, id, err := tn.send(req, now)
		if err != nil {
			return err
		}
		res = provider.SendResult{Key: i.row.Key, MessageID: id, Now: now}
		return nil
	})
	return res, err
}

// send puts a message into the inbox of the named instance.
func (tn *turns) send(req provider.SendRequest, now provider.Time) (to *instance, id int64, err error) {
	to, err = tn.instances.receiver(req.ID, req.Key)
	if err != nil {
		return nil, 0, err
	}
	if !to.room(req.Message) {
		return nil, 0, provider.ErrInboxFull
	}
	return to, tn.inboxes.put(to, req.Message, now), nil
}
