package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Send puts a message into an inbox.
func (t *Tx) Send(req *provider.SendRequest, res *provider.SendResult) error {
	h, err := t.Find(req.ID, req.Key)
	if err != nil {
		return err
	}
	if err := h.sendable(req.ID, req.Key); err != nil {
		return err
	}
	if h.Inbox >= provider.MaxInboxMessages || h.InboxBytes+int64(len(req.Message.Payload)) > provider.MaxInboxBytes {
		return fmt.Errorf("instance %q has %d messages waiting: %w", h.ID, h.Inbox, provider.ErrInboxFull)
	}
	id, err := t.deliver(h, &req.Message)
	*res = provider.SendResult{Key: h.Key, MessageID: id, Now: t.Now}
	return err
}

// deliver puts a message into an inbox.
func (t *Tx) deliver(h *Head, m *provider.NewMessage) (id int64, err error) {
	return t.put(h, m, t.Now.Add(m.Delay), false)
}

func (t *Tx) put(h *Head, m *provider.NewMessage, at provider.Time, timer bool) (int64, error) {
	id := h.NextMessage
	err := t.Rows.PutMessage(h.Key, &Message{
		Place: Place{VisibleAt: at, ID: id}, Kind: m.Kind, Timer: timer, Execution: m.Execution, EventID: m.EventID, Payload: m.Payload,
	})
	if err != nil {
		return 0, err
	}
	t.overtake(h, at)
	h.NextMessage++
	h.Inbox++
	h.InboxBytes += int64(len(m.Payload))
	if h.ReadyAt == 0 || at < h.ReadyAt {
		h.ReadyAt = at
	}
	t.touch(h)
	return id, nil
}

// overtake ends a claim ahead of its time if a message comes before all that it was made for: whoever fetches the
// instance now gets both in their order.
func (t *Tx) overtake(h *Head, at provider.Time) {
	if h.LeaseUntil > t.Elapsed && h.ReadyAt > t.Now && at < h.ReadyAt {
		t.EndLease(h)
		h.Deliveries = max(h.Deliveries-1, 0)
	}
}

// refuse puts a refusal into the sender's own inbox, or counts what is dropped.
func (t *Tx) refuse(sender *Head, m *provider.NewMessage) error {
	if m == nil {
		t.Effects.Dropped++
		return nil
	}
	_, err := t.deliver(sender, m)
	return err
}
