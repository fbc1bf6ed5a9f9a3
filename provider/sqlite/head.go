package sqlite

import (
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// maxHeads bounds how many heads are kept between transactions.
const maxHeads = 8192

const (
	sqlKeyOfID = `SELECT key FROM perdure_instance WHERE id = ? AND current = 1`
	// Both rows that a new instance could collide with, by one index look-up each. A row that matches both comes twice. An OR would
	// prevent that at the cost of a temporary table.
	sqlSameID = `SELECT key, status, deleting, request_id, id, current FROM perdure_instance WHERE id = ? AND current = 1
		UNION ALL SELECT key, status, deleting, request_id, id, current FROM perdure_instance WHERE key = ?`
)

// LoadHead implements [relational.Rows].
func (t *instanceRows) LoadHead(key provider.UUID) (*relational.Head, error) {
	h := &relational.Head{Key: key}
	found, err := t.one(sqlHead, func(r *row) { scanHead(r, h) }, key)
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
		return unwritten(h.Key, writeHeadTurn(t.unit, h))
	}
	return unwritten(h.Key, writeHeadWhole(t.unit, h))
}
