package relational

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// inbox is the inbox of one instance: its messages, and the columns of its head that sum them up.
type inbox struct {
	t *Tx
	h *Head
}

// Send puts a message into an inbox.
func (t *Tx) Send(req *provider.SendRequest, res *provider.SendResult) error {
	h, err := t.Find(req.ID, req.Key)
	if err != nil {
		return err
	}
	if err := h.sendable(req.ID, req.Key); err != nil {
		if h != nil && h.Deleting {
			err = t.gone(h, req.ID, req.Key)
		}
		return err
	}
	box := inbox{t, h}
	if err := box.room(req.Message); err != nil {
		return err
	}
	id, err := box.deliver(&req.Message)
	*res = provider.SendResult{Key: h.Key, MessageID: id, Now: t.Now}
	return err
}

// deliver adds a message, visible after its delay.
func (b inbox) deliver(m *provider.NewMessage) (id int64, err error) {
	if err := b.t.raiseLevel(b.h, m.EngineLevel); err != nil {
		return 0, err
	}
	return b.put(m, b.t.Now.Add(m.Delay), false)
}

// deliverAll adds messages in their order.
func (b inbox) deliverAll(list []provider.NewMessage) error {
	for i := range list {
		if _, err := b.deliver(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// room returns an error unless the messages fit within the limits.
func (b inbox) room(list ...provider.NewMessage) error {
	bytes := b.h.InboxBytes
	for i := range list {
		bytes += int64(len(list[i].Payload))
	}
	if b.h.Inbox+int64(len(list)) > provider.MaxInboxMessages || bytes > provider.MaxInboxBytes {
		return fmt.Errorf("instance %q has %d messages waiting: %w", b.h.ID, b.h.Inbox, provider.ErrInboxFull)
	}
	return nil
}

// refuse gives the instance the refusal of what it sent. A nil one is counted as dropped.
func (b inbox) refuse(m *provider.NewMessage) error {
	if m == nil {
		b.t.Dropped++
		return nil
	}
	_, err := b.deliver(m)
	return err
}

// put adds a message or timer that is visible at a given time.
func (b inbox) put(m *provider.NewMessage, at provider.Time, timer bool) (int64, error) {
	h := b.h
	id := h.NextMessage
	err := b.t.Rows.PutMessage(h.Key, &Message{
		Place: Place{VisibleAt: at, ID: id}, Kind: m.Kind, Timer: timer, Execution: m.Execution, EventID: m.EventID, Payload: m.Payload,
	})
	if err != nil {
		return 0, err
	}
	b.endEarlyLease(at)
	h.NextMessage++
	h.Inbox++
	h.InboxBytes += int64(len(m.Payload))
	if h.ReadyAt == 0 || at < h.ReadyAt {
		h.ReadyAt = at
	}
	b.t.touch(h)
	return id, nil
}

// endEarlyLease ends a claim ahead of time if a message arrives that is visible before those it was made for.
// The next fetch then gets all of them in order.
func (b inbox) endEarlyLease(at provider.Time) {
	h := b.h
	if h.LeaseUntil > b.t.Elapsed && h.ReadyAt > b.t.Now && at < h.ReadyAt {
		b.t.endTurnLease(h)
		h.Deliveries = max(h.Deliveries-1, 0)
	}
}

// find locates the named messages, which are almost always the first ones. With sole it fails if others wait.
func (b inbox) find(ids []int64, sole bool) (Consumed, error) {
	h := b.h
	m := Consumed{Prefix: true}
	if len(ids) == 0 && (!sole || h.Inbox == 0) {
		return m, nil
	}
	wanted := newIDSet(ids)
	gap, others := false, 0
	err := b.t.Rows.Waiting(h.Key, ids, func(w Waiting) bool {
		switch {
		case wanted.has(w.ID):
			m.Places = append(m.Places, w.Place)
			m.Bytes += w.Bytes
			m.Prefix = m.Prefix && !gap
		case w.Timer && w.Execution == h.Execution: // a timer of this execution ends with it
			gap = true
		default:
			gap = true
			others++
		}
		return len(m.Places) < len(ids) || sole && others == 0
	})
	switch {
	case err != nil:
		return m, err
	case len(m.Places) < len(ids):
		return m, fmt.Errorf("instance %q: a consumed message is gone: %w", h.ID, provider.ErrConflict)
	case sole && others > 0:
		return m, fmt.Errorf("instance %q: %w", h.ID, provider.ErrInboxNotEmpty)
	}
	return m, nil
}

// idSet is a set of message IDs. It scans a short list and searches a long one.
type idSet []int64

func newIDSet(ids []int64) idSet {
	if len(ids) > 8 && !slices.IsSorted(ids) {
		ids = slices.Sorted(slices.Values(ids))
	}
	return ids
}

func (s idSet) has(id int64) bool {
	if len(s) <= 8 {
		return slices.Contains(s, id)
	}
	_, found := slices.BinarySearch(s, id)
	return found
}

// consume removes the messages that a turn consumed.
func (b inbox) consume(m Consumed) error {
	h := b.h
	if len(m.Places) == 0 {
		if h.Inbox == 0 || h.ReadyAt <= b.t.Now { // a reset may have made it ready without a message
			return b.t.Recompute(h)
		}
		return nil
	}
	if err := b.t.Rows.RemoveMessages(h.Key, m); err != nil {
		return err
	}
	return b.removed(int64(len(m.Places)), m.Bytes)
}

// removed updates the head after messages were removed.
func (b inbox) removed(count, bytes int64) error {
	b.h.Inbox -= count
	b.h.InboxBytes -= bytes
	return b.t.Recompute(b.h)
}

// Recompute sets the ready time of an instance after messages left its inbox.
func (t *Tx) Recompute(h *Head) error {
	t.touch(h)
	if h.Inbox <= 0 {
		h.Inbox, h.InboxBytes, h.ReadyAt = 0, 0, 0
		return nil
	}
	var err error
	h.ReadyAt, err = t.Rows.FirstVisible(h.Key)
	return err
}

// cancelTimers removes timers of the current execution. A timer that is gone is no error.
func (b inbox) cancelTimers(ids []int64) error {
	h := b.h
	if len(ids) == 0 || h.Inbox == 0 {
		return nil
	}
	var count, size int64
	for _, id := range ids {
		bytes, found, err := b.t.Rows.RemoveTimer(h.Key, h.Execution, id)
		if err != nil {
			return err
		}
		if found {
			b.t.Changes++
			count++
			size += bytes
		}
	}
	return b.removed(count, size)
}

// removeTimers removes all timers of the current execution.
func (b inbox) removeTimers() error {
	h := b.h
	if h.Inbox == 0 {
		return nil
	}
	timers, bytes, err := b.t.Rows.Timers(h.Key, h.Execution)
	if err != nil || timers == 0 {
		return err
	}
	if err := b.t.Rows.RemoveTimers(h.Key, h.Execution); err != nil {
		return err
	}
	return b.removed(timers, bytes)
}

// deadLetter moves all messages to the dead letters.
func (b inbox) deadLetter(reason string) error {
	h := b.h
	if h.Inbox == 0 {
		return nil
	}
	if err := b.t.Rows.DeadLetterInbox(h, reason, b.t.Now); err != nil {
		return err
	}
	h.Inbox, h.InboxBytes, h.ReadyAt = 0, 0, 0
	b.t.TouchWide(h)
	return nil
}
