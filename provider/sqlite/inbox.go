package sqlite

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

const (
	sqlInboxOrder = `SELECT visible_at, id, length(payload), timer, execution FROM perdure_inbox
		WHERE key = ? ORDER BY visible_at, id`
	sqlEat       = `DELETE FROM perdure_inbox WHERE key = ? AND visible_at = ? AND id = ?`
	sqlEatFirst  = `DELETE FROM perdure_inbox WHERE key = ? AND (visible_at, id) <= (?, ?)`
	sqlReady     = `SELECT visible_at FROM perdure_inbox WHERE key = ? ORDER BY visible_at, id LIMIT 1`
	sqlTimers    = `SELECT count(*), coalesce(sum(length(payload)), 0) FROM perdure_inbox WHERE key = ? AND execution = ? AND timer = 1`
	sqlDropTimer = `DELETE FROM perdure_inbox WHERE key = ? AND execution = ? AND event_id = ? AND timer = 1
		RETURNING length(payload)`
	sqlDropTimers = `DELETE FROM perdure_inbox WHERE key = ? AND execution = ? AND timer = 1`
	sqlBuryInbox  = `INSERT INTO perdure_dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name,
		priority, reason, at, payload) SELECT 0, key, ?, execution, event_id, kind, timer, '', '', 0, ?, ?, payload
		FROM perdure_inbox WHERE key = ? ORDER BY visible_at, id`
	sqlDropInbox = `DELETE FROM perdure_inbox WHERE key = ?`
)

// A meal is what a commit consumes: places in the inbox, in order.
type meal struct {
	places []place
	prefix bool // they are the first ones, so that one statement removes them
	bytes  int64
}

type place struct {
	visibleAt provider.Time
	id        int64
}

// matchConsumed finds the consumed messages, which are almost always the first ones, and
// for a closing commit whether others wait.
func (t *tx) matchConsumed(h *head, req *provider.CommitTurnRequest, closing bool) (meal, error) {
	m := meal{prefix: true}
	closing = closing && req.CloseInbox == ""
	if len(req.Consumed) == 0 && (!closing || h.inbox == 0) {
		return m, nil
	}
	wanted := newIDSet(req.Consumed)
	gap, others := false, 0
	err := t.each(sqlInboxOrder, func(r *row) error {
		id := r.int(1)
		switch {
		case wanted.has(id):
			m.places = append(m.places, place{r.time(0), id})
			m.bytes += r.int(2)
			m.prefix = m.prefix && !gap
		case r.bool(3) && r.int(4) == h.execution: // its own timer, which ends with it
			gap = true
		default:
			gap = true
			others++
		}
		if len(m.places) == len(req.Consumed) && (!closing || others > 0) {
			return errStop
		}
		return nil
	}, h.key)
	switch {
	case err != nil:
		return m, fmt.Errorf("perdure_inbox %s: %w", h.key, err)
	case len(m.places) < len(req.Consumed):
		return m, fmt.Errorf("instance %q: a consumed message is gone: %w", h.id, provider.ErrConflict)
	case closing && others > 0:
		return m, fmt.Errorf("instance %q: %w", h.id, provider.ErrInboxNotEmpty)
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
func (t *tx) consume(h *head, m meal) error {
	if len(m.places) == 0 {
		if h.inbox == 0 || h.readyAt <= t.now { // a reset may have made it ready without a message
			return t.recompute(h)
		}
		return nil
	}
	if m.prefix && len(m.places) > 1 {
		last := m.places[len(m.places)-1]
		if _, err := t.exec(sqlEatFirst, h.key, last.visibleAt, last.id); err != nil {
			return err
		}
	} else {
		for _, p := range m.places {
			if _, err := t.exec(sqlEat, h.key, p.visibleAt, p.id); err != nil {
				return err
			}
		}
	}
	h.inbox -= int64(len(m.places))
	h.inboxBytes -= m.bytes
	return t.recompute(h)
}

// recompute derives the ready time from the inbox after something left it.
func (t *tx) recompute(h *head) error {
	t.touch(h)
	if h.inbox <= 0 {
		h.inbox, h.inboxBytes, h.readyAt = 0, 0, 0
		return nil
	}
	at, err := t.integer(sqlReady, h.key)
	h.readyAt = provider.Time(at)
	return err
}

// cancelTimers removes timers of the current execution; one that is gone is fine.
func (t *tx) cancelTimers(h *head, ids []int64) error {
	if len(ids) == 0 || h.inbox == 0 {
		return nil
	}
	for _, id := range ids {
		err := t.each(sqlDropTimer, func(r *row) error {
			t.changes++
			h.inbox--
			h.inboxBytes -= r.int(0)
			return nil
		}, h.key, h.execution, id)
		if err != nil {
			return err
		}
	}
	return t.recompute(h)
}

// clearExecution removes the tasks and timers of the current execution.
func (t *tx) clearExecution(h *head) error {
	if _, err := t.exec(sqlDropTasks, h.key, h.execution); err != nil {
		return err
	}
	t.notice(h.key, h.execution, 0)
	if h.inbox == 0 {
		return nil
	}
	var timers, bytes int64
	if _, err := t.one(sqlTimers, func(r *row) { timers, bytes = r.int(0), r.int(1) }, h.key, h.execution); err != nil || timers == 0 {
		return err
	}
	if _, err := t.exec(sqlDropTimers, h.key, h.execution); err != nil {
		return err
	}
	h.inbox -= timers
	h.inboxBytes -= bytes
	return t.recompute(h)
}

// buryInbox moves what waits to the dead letters.
func (t *tx) buryInbox(h *head, reason string) error {
	if h.inbox == 0 {
		return nil
	}
	if _, err := t.exec(sqlBuryInbox, h.id, reason, t.now, h.key); err != nil {
		return err
	}
	if _, err := t.exec(sqlDropInbox, h.key); err != nil {
		return err
	}
	h.inbox, h.inboxBytes, h.readyAt = 0, 0, 0
	t.touchWide(h)
	return nil
}
