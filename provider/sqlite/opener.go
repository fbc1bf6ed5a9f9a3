package sqlite

import (
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlDropAttributes = `DELETE FROM perdure_attribute WHERE key = ?`
	sqlNoAttributes   = `UPDATE perdure_instance SET attributes = 0 WHERE key = ? AND attributes <> 0`
	sqlDropRequests   = `DELETE FROM perdure_request WHERE key = ?`
	sqlMoveMessages   = `UPDATE perdure_inbox SET execution = ? WHERE key = ? AND execution = ? AND event_id = ? AND timer = 0`
	sqlMoveChild      = `UPDATE perdure_instance SET parent_execution = ? WHERE key = ?`
)

// ClearAttributes implements [relational.Rows].
func (t *instanceRows) ClearAttributes(key provider.UUID) error {
	delete(t.rowCache, key)
	if err := t.do(sqlDropAttributes, key); err != nil {
		return err
	}
	return t.do(sqlNoAttributes, key)
}

// SetRequests implements [relational.Rows].
func (t *inboxRows) SetRequests(key provider.UUID, requests []string) error {
	if err := t.do(sqlDropRequests, key); err != nil {
		return err
	}
	for _, request := range requests {
		if err := t.do(sqlAddRequest, key, request); err != nil {
			return err
		}
	}
	return nil
}

// MoveMessages implements [relational.Rows].
func (t *inboxRows) MoveMessages(h *relational.Head, event, from, to int64) (int64, error) {
	return t.exec(sqlMoveMessages, to, h.Key, from, event)
}

// MoveChild implements [relational.Rows].
func (t *instanceRows) MoveChild(h *relational.Head) error {
	delete(t.rowCache, h.Key)
	return t.do(sqlMoveChild, h.Parent.Execution, h.Key)
}
