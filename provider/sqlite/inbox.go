package sqlite

import (
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlDeliver = `INSERT INTO perdure_inbox (key, visible_at, id, kind, timer, execution, event_id, payload, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlInboxOrder = `SELECT visible_at, id, length(payload), timer, execution FROM perdure_inbox
		WHERE key = ? ORDER BY visible_at, id`
	sqlDeleteConsumed       = `DELETE FROM perdure_inbox WHERE key = ? AND visible_at = ? AND id = ?`
	sqlDeleteConsumedPrefix = `DELETE FROM perdure_inbox WHERE key = ? AND (visible_at, id) <= (?, ?)`
	sqlReady                = `SELECT visible_at FROM perdure_inbox WHERE key = ? ORDER BY visible_at, id LIMIT 1`
	sqlTimers               = `SELECT count(*), coalesce(sum(length(payload)), 0) FROM perdure_inbox WHERE key = ? AND execution = ? AND timer = 1`
	sqlDropTimer            = `DELETE FROM perdure_inbox WHERE key = ? AND execution = ? AND event_id = ? AND timer = 1
		RETURNING length(payload)`
	sqlDropTimers      = `DELETE FROM perdure_inbox WHERE key = ? AND execution = ? AND timer = 1`
	sqlDeadLetterInbox = `INSERT INTO perdure_dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name,
		priority, reason, at, payload) SELECT 0, key, ?, execution, event_id, kind, timer, '', '', 0, ?, ?, payload
		FROM perdure_inbox WHERE key = ? ORDER BY visible_at, id`
	sqlDeadLetterMessage = `INSERT INTO perdure_dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name,
		priority, reason, at, payload) SELECT 0, key, ?, execution, event_id, kind, timer, '', '', 0, ?, ?, payload
		FROM perdure_inbox WHERE key = ? AND id = ?`
	sqlDropMessage = `DELETE FROM perdure_inbox WHERE key = ? AND id = ? RETURNING coalesce(length(payload), 0)`
	sqlDropInbox   = `DELETE FROM perdure_inbox WHERE key = ?`
)

// Waiting implements [relational.Rows].
func (t *inboxRows) Waiting(key provider.UUID, _ []int64, fn func(relational.Waiting) bool) error {
	err := t.each(sqlInboxOrder, func(r *row) error {
		w := relational.Waiting{
			Place: relational.Place{VisibleAt: r.time(0), ID: r.int(1)}, Bytes: r.int(2), Timer: r.bool(3), Execution: r.int(4),
		}
		if !fn(w) {
			return errStop
		}
		return nil
	}, key)
	if err != nil {
		err = fmt.Errorf("perdure_inbox %s: %w", key, err)
	}
	return err
}

// FirstVisible implements [relational.Rows].
func (t *inboxRows) FirstVisible(key provider.UUID) (provider.Time, error) {
	at, err := t.integer(sqlReady, key)
	return provider.Time(at), err
}

// Timers implements [relational.Rows].
func (t *inboxRows) Timers(key provider.UUID, execution int64) (count, bytes int64, err error) {
	_, err = t.one(sqlTimers, func(r *row) { count, bytes = r.int(0), r.int(1) }, key, execution)
	return count, bytes, err
}

// PutMessage implements [relational.Rows].
func (t *inboxRows) PutMessage(key provider.UUID, m *relational.Message) error {
	err := t.do(sqlDeliver, key, m.VisibleAt, m.ID, m.Kind, m.Timer, m.Execution, m.EventID, m.Payload, checksum(m.Payload))
	if m.Timer {
		return doubled(err, "timer", m.EventID)
	}
	return err
}

// RemoveMessages implements [relational.Rows]: the first messages by one statement.
func (t *inboxRows) RemoveMessages(key provider.UUID, consumed relational.Consumed) error {
	if consumed.Prefix && len(consumed.Places) > 1 {
		last := consumed.Places[len(consumed.Places)-1]
		return t.do(sqlDeleteConsumedPrefix, key, last.VisibleAt, last.ID)
	}
	for _, p := range consumed.Places {
		if err := t.do(sqlDeleteConsumed, key, p.VisibleAt, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// RemoveTimer implements [relational.Rows].
func (t *inboxRows) RemoveTimer(key provider.UUID, execution, event int64) (bytes int64, found bool, err error) {
	err = t.each(sqlDropTimer, func(r *row) error {
		bytes, found = r.int(0), true
		return nil
	}, key, execution, event)
	return bytes, found, err
}

// RemoveTimers implements [relational.Rows].
func (t *inboxRows) RemoveTimers(key provider.UUID, execution int64) error {
	return t.do(sqlDropTimers, key, execution)
}

// DeadLetterInbox implements [relational.Rows].
func (t *inboxRows) DeadLetterInbox(h *relational.Head, reason string, now provider.Time) error {
	if err := t.do(sqlDeadLetterInbox, h.ID, reason, now, h.Key); err != nil {
		return err
	}
	return t.do(sqlDropInbox, h.Key)
}

// DeadLetterMessage implements [relational.Rows].
func (t *inboxRows) DeadLetterMessage(h *relational.Head, id int64, reason string, now provider.Time) (bytes int64, found bool, err error) {
	if err := t.do(sqlDeadLetterMessage, h.ID, reason, now, h.Key, id); err != nil {
		return 0, false, err
	}
	err = t.each(sqlDropMessage, func(r *row) error {
		bytes, found = r.int(0), true
		return nil
	}, h.Key, id)
	return bytes, found, err
}
