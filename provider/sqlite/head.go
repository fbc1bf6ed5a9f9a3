package sqlite

import (
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// maxHeads bounds how many heads are kept between transactions.
const maxHeads = 8192

const (
	sqlHead = `SELECT id, kind, status, deleting, execution, version, history_length, history_bytes, blocked,
		retry_at, updated_at, ended_at, ready_at, inbox_messages, inbox_bytes, next_message, deliveries, lease_token,
		lease_owner, lease_until, sticky_owner, sticky_until, not_before_at, fetch_at, parent_key, parent_execution, parent_event,
		listened
		FROM perdure_instance WHERE key = ?`
	sqlKeyOfID = `SELECT key FROM perdure_instance WHERE id = ? AND current = 1`
	// Both rows that a new instance could collide with, by one index look-up each. A row that matches both comes twice. An OR would
	// prevent that at the cost of a temporary table.
	sqlSameID = `SELECT key, status, deleting, request_id, id, current FROM perdure_instance WHERE id = ? AND current = 1
		UNION ALL SELECT key, status, deleting, request_id, id, current FROM perdure_instance WHERE key = ?`
	sqlHeadSmall = `UPDATE perdure_instance SET version = ?, history_length = ?, history_bytes = ?, updated_at = ?,
		ready_at = ?, inbox_messages = ?, inbox_bytes = ?, next_message = ?, deliveries = ?, sticky_owner = ?,
		sticky_until = ? WHERE key = ?`
	sqlHeadWide = `UPDATE perdure_instance SET version = ?, history_length = ?, history_bytes = ?, updated_at = ?,
		ready_at = ?, inbox_messages = ?, inbox_bytes = ?, next_message = ?, deliveries = ?, sticky_owner = ?,
		sticky_until = ?, kind = ?, status = ?, deleting = ?, execution = ?, blocked = ?, retry_at = ?, ended_at = ?,
		lease_token = ?, lease_owner = ?, lease_until = ?, not_before_at = ?, fetch_at = ? WHERE key = ?`
)

// LoadHead implements [relational.Rows].
func (t *instanceRows) LoadHead(key provider.UUID) (*relational.Head, error) {
	h := &relational.Head{Key: key}
	found, err := t.one(sqlHead, func(r *row) {
		h.ID, h.Kind, h.Status, h.Deleting = r.text(0), r.int(1), provider.Status(r.int(2)), r.bool(3)
		h.Execution, h.Version, h.Length, h.Bytes = r.int(4), r.uuid(5), r.int(6), r.int(7)
		h.Blocked, h.RetryAt, h.UpdatedAt, h.EndedAt = r.bool(8), r.time(9), r.time(10), r.time(11)
		h.ReadyAt, h.Inbox, h.InboxBytes, h.NextMessage = r.time(12), r.int(13), r.int(14), r.int(15)
		h.Deliveries, h.LeaseToken, h.LeaseOwner, h.LeaseUntil = r.int(16), r.uuid(17), r.text(18), r.int(19)
		h.StickyOwner, h.StickyUntil, h.NotBefore, h.FetchAt = r.text(20), r.int(21), r.time(22), r.time(23)
		h.Parent.Key, h.Parent.Execution, h.Parent.EventID, h.Listened = r.uuid(24), r.int(25), r.int(26), r.bool(27)
	}, key)
	if err != nil {
		return nil, fmt.Errorf("perdure_instance %s: %w", key, err)
	}
	if !found {
		return nil, nil //nolint:nilnil // no instance is not an error
	}
	return h, nil
}

// Current implements [relational.Rows].
func (t *instanceRows) Current(id string) (key provider.UUID, err error) {
	_, err = t.one(sqlKeyOfID, func(r *row) { key = r.uuid(0) }, id)
	return key, err
}

// Rivals implements [relational.Rows].
func (t *instanceRows) Rivals(id string, key provider.UUID) (sameID, sameKey *relational.Rival, err error) {
	err = t.each(sqlSameID, func(r *row) error {
		v := &relational.Rival{
			Key: r.uuid(0), Status: provider.Status(r.int(1)), Deleting: r.bool(2), Request: r.text(3), ID: r.text(4),
		}
		if v.ID == id && r.bool(5) {
			sameID = v
		}
		if v.Key == key {
			sameKey = v
		}
		return nil
	}, id, key)
	return sameID, sameKey, err
}

// StoreHead implements [relational.Rows]. Most turns change no column that an index has.
func (t *instanceRows) StoreHead(h *relational.Head) error {
	fetchAt := h.Ready()
	if h.LeaseUntil != 0 {
		fetchAt = 0 // the sweep sets it when the lease has expired
	}
	wide := h.Wide || fetchAt != h.FetchAt
	h.FetchAt = fetchAt
	if h.Kept && h.StickyOwner != "" { // otherwise another process may serve the owner, and storing a message does not change that
		if err := t.enroll(h.StickyOwner); err != nil {
			return err
		}
	}
	if !wide {
		return unwritten(h.Key, t.do(sqlHeadSmall, h.Version, h.Length, h.Bytes, h.UpdatedAt, h.ReadyAt, h.Inbox, h.InboxBytes,
			h.NextMessage, h.Deliveries, textOrNull(h.StickyOwner), h.StickyUntil, h.Key))
	}
	return unwritten(h.Key, t.do(sqlHeadWide, h.Version, h.Length, h.Bytes, h.UpdatedAt, h.ReadyAt, h.Inbox, h.InboxBytes,
		h.NextMessage, h.Deliveries, textOrNull(h.StickyOwner), h.StickyUntil, h.Kind, h.Status, h.Deleting,
		h.Execution, h.Blocked, h.RetryAt, h.EndedAt, h.LeaseToken, textOrNull(h.LeaseOwner), h.LeaseUntil,
		h.NotBefore, timeOrNull(h.FetchAt), h.Key))
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNull(at provider.Time) any {
	if at == 0 {
		return nil
	}
	return int64(at)
}
