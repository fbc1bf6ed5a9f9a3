package sqlite

import (
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlRetire = `UPDATE perdure_instance SET current = 0 WHERE key = ?`
	sqlCreate = `INSERT INTO perdure_instance (key, id, kind, status, execution, version, request_id, created_at, updated_at,
		ready_at, inbox_messages, inbox_bytes, next_message, fetch_at,
		parent_key, parent_id, parent_execution, parent_event, parent_close)
		VALUES (?, ?, ?, 1, 1, ?, ?, ?, ?, ?, 1, ?, 2, ?, ?, ?, ?, ?, ?)`
	sqlCreateRoot = `INSERT INTO perdure_instance (key, id, kind, status, execution, version, request_id, created_at, updated_at,
		ready_at, inbox_messages, inbox_bytes, next_message, fetch_at)
		VALUES (?, ?, ?, 1, 1, ?, ?, ?, ?, ?, 1, ?, 2, ?)`
	sqlCreateBegun = `INSERT INTO perdure_instance (key, id, kind, status, execution, version, request_id, created_at, updated_at,
		history_length, history_bytes, ready_at, inbox_messages, inbox_bytes, next_message, sticky_owner, sticky_until, fetch_at,
		parent_key, parent_id, parent_execution, parent_event, parent_close)
		VALUES (?, ?, ?, 1, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlTurnsOf  = `SELECT key FROM perdure_instance WHERE lease_until > 0 AND lease_token = ?`
	sqlAttached = `SELECT key FROM perdure_instance WHERE parent_key = ? AND parent_close = 0`
	sqlBlock    = `UPDATE perdure_instance SET blocked_count = ?, blocked_reason = ?, blocked_message = ?,
		blocked_since = ? WHERE key = ?`
	sqlBlockAgain = `UPDATE perdure_instance SET blocked_count = blocked_count + 1, blocked_reason = ?, blocked_message = ? WHERE key = ?`
	sqlUnblock    = `UPDATE perdure_instance SET blocked_count = 0, blocked_reason = NULL, blocked_message = NULL,
		blocked_since = NULL WHERE key = ?`
	sqlCustomStatus = `INSERT INTO perdure_outcome (key, custom_status) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET custom_status = excluded.custom_status`
	sqlResult = `INSERT INTO perdure_outcome (key, result, sum) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET result = excluded.result, sum = excluded.sum`
	sqlFailedResult = `INSERT INTO perdure_outcome (key, result, sum, failure_group, excerpt, failed_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET result = excluded.result, sum = excluded.sum, failure_group = excluded.failure_group,
		excerpt = excluded.excerpt, failed_at = excluded.failed_at`
	sqlDropResult = `UPDATE perdure_outcome SET result = NULL, sum = NULL, failure_group = NULL, excerpt = NULL, failed_at = NULL WHERE key = ?`
	sqlActs       = `SELECT coalesce(acts, x'') FROM perdure_outcome WHERE key = ?`
	sqlSetActs    = `INSERT INTO perdure_outcome (key, acts) VALUES (?, ?) ON CONFLICT DO UPDATE SET acts = excluded.acts`
	sqlSetValue   = `INSERT INTO perdure_value (key, name, value) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET value = excluded.value`
	sqlDropValue    = `DELETE FROM perdure_value WHERE key = ? AND name = ?`
	sqlSetAttribute = `INSERT INTO perdure_attribute (key, name, kind, text, number) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET kind = excluded.kind, text = excluded.text, number = excluded.number`
	sqlHasAttributes = `UPDATE perdure_instance SET attributes = 1 WHERE key = ? AND attributes = 0`
)

// InsertInstance implements [relational.Rows].
func (t *instanceRows) InsertInstance(h *relational.Head, req *provider.CreateRequest) error {
	t.cacheRow(h, req)
	t.Effects.Created = append(t.Effects.Created, h.Key)
	if req.Parent.Key.IsZero() {
		return t.do(sqlCreateRoot, h.Key, h.ID, h.Kind, h.Version, req.RequestID, t.Now, t.Now, h.ReadyAt, h.InboxBytes, h.FetchAt)
	}
	return t.do(sqlCreate, h.Key, h.ID, h.Kind, h.Version, req.RequestID, t.Now, t.Now, h.ReadyAt, h.InboxBytes, h.FetchAt,
		req.Parent.Key, req.Parent.ID, req.Parent.Execution, req.Parent.EventID, req.Parent.Close)
}

// InsertBegun implements [relational.FirstTurnRows].
func (t *instanceRows) InsertBegun(h *relational.Head, req *provider.CreateRequest) error {
	t.cacheRow(h, req)
	t.Effects.Created = append(t.Effects.Created, h.Key)
	if h.StickyOwner != "" {
		if err := t.enroll(h.StickyOwner); err != nil {
			return err
		}
	}
	parent := make([]any, 5) // null for a root
	if p := req.Parent; !p.Key.IsZero() {
		parent = []any{p.Key, p.ID, p.Execution, p.EventID, p.Close}
	}
	return t.do(sqlCreateBegun, append([]any{
		h.Key, h.ID, h.Kind, h.Version, req.RequestID, t.Now, t.Now, h.Length, h.Bytes, h.ReadyAt, h.Inbox, h.InboxBytes, h.NextMessage,
		textOrNull(h.StickyOwner), h.StickyUntil, timeOrNull(h.FetchAt),
	}, parent...)...)
}

// Retire implements [relational.Rows].
func (t *instanceRows) Retire(key provider.UUID) error { return t.do(sqlRetire, key) }

// TurnsOf implements [relational.Rows].
func (t *instanceRows) TurnsOf(token provider.UUID) ([]provider.UUID, error) {
	if err := t.Flush(); err != nil { // so that the statement sees what this group leased
		return nil, err
	}
	return t.keys(sqlTurnsOf, token)
}

// Attached implements [relational.Rows].
func (t *instanceRows) Attached(parent provider.UUID) ([]provider.UUID, error) {
	return t.keys(sqlAttached, parent)
}

// Block implements [relational.Rows].
func (t *instanceRows) Block(key provider.UUID, f *provider.TurnFailure, now provider.Time, fresh bool) error {
	if fresh {
		return t.do(sqlBlock, 1, f.Reason, f.Message, now, key)
	}
	return t.do(sqlBlockAgain, f.Reason, f.Message, key)
}

// ClearBlocked implements [relational.Rows]. An operator has repaired the instance.
func (t *instanceRows) ClearBlocked(key provider.UUID) error {
	t.unskip(key)
	return t.do(sqlUnblock, key)
}

// SetCustomStatus implements [relational.Rows].
func (t *instanceRows) SetCustomStatus(key provider.UUID, status []byte) error {
	delete(t.rowCache, key)
	if len(status) == 0 {
		return t.do(sqlCustomStatus, key, nil)
	}
	return t.do(sqlCustomStatus, key, status)
}

// SetResult implements [relational.Rows].
func (t *instanceRows) SetResult(key provider.UUID, result []byte, failure *relational.Failure) error {
	if result == nil && failure == nil {
		delete(t.rowCache, key)
		return t.do(sqlDropResult, key)
	}
	if m := t.rowCache[key]; m != nil {
		m.result, m.failure = result, failure
	}
	if failure == nil {
		return t.do(sqlResult, key, result, checksum(result))
	}
	var stored, sum, excerpt any
	if result != nil {
		stored, sum = result, checksum(result)
	}
	if len(failure.Excerpt) > 0 {
		excerpt = failure.Excerpt
	}
	return t.do(sqlFailedResult, key, stored, sum, textOrNull(failure.Group), excerpt, failure.At)
}

// SetAttributes implements [relational.Rows].
func (t *instanceRows) SetAttributes(key provider.UUID, list []provider.Attribute) error {
	delete(t.rowCache, key)
	for _, a := range list {
		if err := t.do(sqlSetAttribute, key, a.Name, a.Kind, a.Text, a.Number); err != nil {
			return err
		}
	}
	return t.do(sqlHasAttributes, key)
}

// SetValue implements [relational.Rows].
func (t *instanceRows) SetValue(key provider.UUID, v provider.KeyValue) error {
	if v.Value == nil {
		return t.do(sqlDropValue, key, v.Key)
	}
	return t.do(sqlSetValue, key, v.Key, v.Value)
}

// Acts implements [relational.Rows].
func (t *instanceRows) Acts(key provider.UUID) (acts []byte, err error) {
	_, err = t.one(sqlActs, func(r *row) { acts = r.blob(0) }, key)
	return acts, err
}

// SetActs implements [relational.Rows].
func (t *instanceRows) SetActs(key provider.UUID, acts []byte) error {
	return t.do(sqlSetActs, key, acts)
}
