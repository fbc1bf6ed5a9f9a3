package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

const sqlDeliver = `INSERT INTO perdure_inbox (key, visible_at, id, kind, timer, execution, event_id, payload, sum)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

// deliver puts a message into an inbox.
func (t *tx) deliver(h *head, m *provider.NewMessage) (id int64, err error) {
	return t.put(h, m, t.now.Add(m.Delay), false)
}

func (t *tx) put(h *head, m *provider.NewMessage, at provider.Time, timer bool) (int64, error) {
	id := h.nextMessage
	if _, err := t.exec(sqlDeliver, h.key, at, id, m.Kind, timer, m.Execution, m.EventID, m.Payload, checksum(m.Payload)); err != nil {
		return 0, err
	}
	h.nextMessage++
	h.inbox++
	h.inboxBytes += int64(len(m.Payload))
	if h.readyAt == 0 || at < h.readyAt {
		h.readyAt = at
	}
	t.touch(h)
	return id, nil
}

// Send implements [provider.Provider].
func (p *Provider) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	if err := req.Validate(); err != nil {
		return provider.SendResult{}, err
	}
	return write(ctx, p, "send", len(req.Message.Payload), func(t *tx, res *provider.SendResult) error {
		h, err := t.find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if err := sendable(h, req.ID, req.Key); err != nil {
			return err
		}
		if h.inbox >= provider.MaxInboxMessages || h.inboxBytes+int64(len(req.Message.Payload)) > provider.MaxInboxBytes {
			return fmt.Errorf("instance %q has %d messages waiting: %w", h.id, h.inbox, provider.ErrInboxFull)
		}
		id, err := t.deliver(h, &req.Message)
		*res = provider.SendResult{Key: h.key, MessageID: id, Now: t.now}
		return err
	})
}

// sendable tells why an instance takes no messages.
func sendable(h *head, id string, key provider.UUID) error {
	switch {
	case h == nil || h.deleting:
		return notFound(id, key)
	case h.status.Ended():
		return fmt.Errorf("instance %q (status %s): %w", h.id, h.status, provider.ErrEnded)
	}
	return nil
}

func notFound(id string, key provider.UUID) error {
	if key.IsZero() {
		return fmt.Errorf("instance %q: %w", id, provider.ErrNotFound)
	}
	return fmt.Errorf("instance %s: %w", key, provider.ErrNotFound)
}

// refuse puts a refusal into the sender's own inbox, or counts what is dropped.
func (t *tx) refuse(sender *head, m *provider.NewMessage) error {
	if m == nil {
		t.fx.dropped++
		return nil
	}
	_, err := t.deliver(sender, m)
	return err
}

func sortedAttributes(list []provider.Attribute) []provider.Attribute {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b provider.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list
}
