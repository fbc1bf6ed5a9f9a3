package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlSeal = `SELECT s.key, '', s.transfer, s.state, s.arrived, s.status, s.ended_at, s.pages FROM perdure.seal s WHERE s.key = $1`
	sqlPut  = `INSERT INTO perdure.seal (key, transfer, state, arrived, status, ended_at, pages) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (key) DO UPDATE SET transfer = excluded.transfer, state = excluded.state, arrived = excluded.arrived,
	status = excluded.status, ended_at = excluded.ended_at, pages = excluded.pages RETURNING 1`
)

// seal is a stored seal.
type seal struct {
	provider.Seal

	ended provider.Time // when the instance ended, for the status that it gets back
	pages int64
}

func scanSeal(r Row) seal {
	return seal{
		Seal: provider.Seal{
			Key: r.UUID(0), ID: r.Text(1), Transfer: r.UUID(2), State: provider.SealState(r.Int(3)), Arrived: r.Bool(4),
			Status: provider.Status(r.Int(5)),
		},
		ended: timeIn(r, 6), pages: r.Int(7),
	}
}

// seal reads the seal of an instance. Without one, its state is SealNone.
func (t *Tx) seal(key provider.UUID) (s seal, err error) {
	s.Key = key
	err = t.Rows.Query(Query{SQL: sqlSeal, Args: []any{key}, Each: func(r Row) error {
		s = scanSeal(r)
		return nil
	}})
	return s, err
}

func (t *Tx) putSeal(s *seal) error {
	t.Changes++
	args := []any{s.Key, s.Transfer, int64(s.State), s.Arrived, int64(s.Status), int64(s.ended), s.pages}
	return t.Rows.Query(Query{SQL: sqlPut, Args: args, Writes: true, Each: func(Row) error { return nil }})
}

// gone returns the error for an instance that accepts no calls: ErrMoved if it is closed, else ErrNotFound.
func (t *Tx) gone(h *Head, id string, key provider.UUID) error {
	if h == nil || !h.Deleting {
		return NotFound(id, key)
	}
	if s, err := t.seal(h.Key); err != nil || s.State != provider.SealNone {
		return moved(h, err)
	}
	return NotFound(id, key)
}

// CheckFree returns ErrMoved for a sealed instance.
func (t *Tx) CheckFree(h *Head) error {
	if h.Status != provider.StatusSuspended { // as every sealed one
		return nil
	}
	if s, err := t.seal(h.Key); err != nil || s.State != provider.SealNone {
		return moved(h, err)
	}
	return nil
}

// checkMoved returns ErrMoved if the instance with the key is closed.
func (t *Tx) checkMoved(key provider.UUID) error {
	h, err := t.Head(key)
	if err != nil || h == nil || !h.Deleting {
		return err
	}
	if s, err := t.seal(key); err != nil || s.State != provider.SealNone {
		return moved(h, err)
	}
	return nil
}

func moved(h *Head, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("instance %q: %w", h.ID, provider.ErrMoved)
}
