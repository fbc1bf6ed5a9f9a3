package relational

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// matchConsumed finds the consumed messages, which are almost always the first ones, and
// for a closing commit whether others wait.
func (t *Tx) matchConsumed(h *Head, req *provider.CommitTurnRequest, closing bool) (Meal, error) {
	m := Meal{Prefix: true}
	closing = closing && req.CloseInbox == ""
	if len(req.Consumed) == 0 && (!closing || h.Inbox == 0) {
		return m, nil
	}
	wanted := newIDSet(req.Consumed)
	gap, others := false, 0
	err := t.Rows.Waiting(h.Key, req.Consumed, func(w Waiting) bool {
		switch {
		case wanted.has(w.ID):
			m.Places = append(m.Places, w.Place)
			m.Bytes += w.Bytes
			m.Prefix = m.Prefix && !gap
		case w.Timer && w.Execution == h.Execution: // its own timer, which ends with it
			gap = true
		default:
			gap = true
			others++
		}
		return len(m.Places) < len(req.Consumed) || closing && others == 0
	})
	switch {
	case err != nil:
		return m, err
	case len(m.Places) < len(req.Consumed):
		return m, fmt.Errorf("instance %q: a consumed message is gone: %w", h.ID, provider.ErrConflict)
	case closing && others > 0:
		return m, fmt.Errorf("instance %q: %w", h.ID, provider.ErrInboxNotEmpty)
	}
	return m, nil
}

// idSet finds a few IDs by looking at all, many by search.
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

// consume removes a meal from the inbox.
func (t *Tx) consume(h *Head, m Meal) error {
	if len(m.Places) == 0 {
		if h.Inbox == 0 || h.ReadyAt <= t.Now { // a reset may have made it ready without a message
			return t.Recompute(h)
		}
		return nil
	}
	if err := t.Rows.RemoveMessages(h.Key, m); err != nil {
		return err
	}
	h.Inbox -= int64(len(m.Places))
	h.InboxBytes -= m.Bytes
	return t.Recompute(h)
}

// Recompute derives the ready time from the inbox after something left it.
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

// cancelTimers removes timers of the current execution; one that is gone is fine.
func (t *Tx) cancelTimers(h *Head, ids []int64) error {
	if len(ids) == 0 || h.Inbox == 0 {
		return nil
	}
	for _, id := range ids {
		bytes, found, err := t.Rows.RemoveTimer(h.Key, h.Execution, id)
		if err != nil {
			return err
		}
		if found {
			t.Changes++
			h.Inbox--
			h.InboxBytes -= bytes
		}
	}
	return t.Recompute(h)
}

// clearExecution removes the tasks and timers of the current execution.
func (t *Tx) clearExecution(h *Head) error {
	if err := t.Rows.RemoveTasks(h.Key, h.Execution); err != nil {
		return err
	}
	t.Changes++
	t.notice(h.Key, h.Execution, 0)
	if h.Inbox == 0 {
		return nil
	}
	timers, bytes, err := t.Rows.Timers(h.Key, h.Execution)
	if err != nil || timers == 0 {
		return err
	}
	if err := t.Rows.RemoveTimers(h.Key, h.Execution); err != nil {
		return err
	}
	h.Inbox -= timers
	h.InboxBytes -= bytes
	return t.Recompute(h)
}

// buryInbox moves what waits to the dead letters.
func (t *Tx) buryInbox(h *Head, reason string) error {
	if h.Inbox == 0 {
		return nil
	}
	if err := t.Rows.BuryInbox(h, reason, t.Now); err != nil {
		return err
	}
	h.Inbox, h.InboxBytes, h.ReadyAt = 0, 0, 0
	t.TouchWide(h)
	return nil
}
