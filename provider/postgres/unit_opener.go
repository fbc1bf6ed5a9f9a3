package postgres

import (
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlDropAttributes = `WITH flagged AS (UPDATE perdure.instance SET attributes = false WHERE key = $1 AND attributes)
	DELETE FROM perdure.attribute WHERE key = $1`
	sqlDropRequests = `DELETE FROM perdure.request WHERE key = $1`
	sqlPutRequests  = `INSERT INTO perdure.request (key, number, request_id)
	SELECT $1::uuid, n, id FROM unnest($2::text[]) WITH ORDINALITY r (id, n)`
	sqlMoveMessages = `UPDATE perdure.inbox SET execution = $1 WHERE key = $2 AND execution = $3 AND event_id = $4 AND NOT timer`
	sqlMoveChild    = `UPDATE perdure.instance SET parent_execution = $1 WHERE key = $2`
)

// change sends the deferred writes and then makes another one. It returns how many rows changed.
func (t *txn) change(sql string, args ...any) (int64, error) {
	if err := t.send(); err != nil {
		return 0, err
	}
	tag, err := t.conn.Exec(t.ctx, t.db.names.sql(sql), args...)
	return tag.RowsAffected(), err
}

// ClearAttributes implements [relational.Rows].
func (r *instanceRows) ClearAttributes(key provider.UUID) error {
	r.described[key] = true
	r.disown(key)
	_, err := r.t.change(sqlDropAttributes, uuid(key))
	return err
}

// SetRequests implements [relational.Rows].
func (r *inboxRows) SetRequests(key provider.UUID, requests []string) error {
	if _, err := r.t.change(sqlDropRequests, uuid(key)); err != nil || len(requests) == 0 {
		return err
	}
	_, err := r.t.change(sqlPutRequests, uuid(key), requests)
	return err
}

// MoveMessages implements [relational.Rows]. The reset that moves them describes the instance, so that nobody caches them.
func (r *inboxRows) MoveMessages(h *relational.Head, event, from, to int64) (int64, error) {
	return r.t.change(sqlMoveMessages, to, uuid(h.Key), from, event)
}

// MoveChild implements [relational.Rows].
func (r *instanceRows) MoveChild(h *relational.Head) error {
	r.described[h.Key] = true
	r.disown(h.Key)
	_, err := r.t.change(sqlMoveChild, h.Parent.Execution, uuid(h.Key))
	return err
}
