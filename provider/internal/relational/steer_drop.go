package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// steerNeeds returns the needs of Steer.
func steerNeeds(req *provider.SteerRequest) Needs {
	n := NamedNeeds(req.ID, req.Key)
	if req.Action == provider.SteerDrop && !req.Key.IsZero() {
		n.Inbox = []InboxNeed{{Key: req.Key, Named: []int64{req.MessageID}, First: 2}}
	}
	for i := range req.Notices {
		more := NamedNeeds(req.Notices[i].ID, req.Notices[i].Key)
		n.Keys, n.IDs = append(n.Keys, more.Keys...), append(n.IDs, more.IDs...)
	}
	return n
}

// drop moves one message to the dead letters. The ready time stays if it has come: a reset may have set it, and nothing
// else would wake the instance.
func (s steering) drop() error {
	t, h, id := s.t, s.h, s.req.MessageID
	bytes, found, err := t.Rows.DeadLetterMessage(h, id, s.req.Reason, t.Now)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("message %d of instance %q: %w", id, h.ID, provider.ErrNotFound)
	}
	ready := h.ReadyAt
	if err := (inbox{t, h}).removed(1, bytes); err != nil {
		return err
	}
	if ready <= t.Now {
		h.ReadyAt = ready
	}
	return nil
}
