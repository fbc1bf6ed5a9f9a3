package relational

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	// A token that holds a task no longer must not complete it. Columns that a lease's end would change stay as they are.
	sqlFreeTasks = `UPDATE perdure.task SET state = 1, token = NULL, owner = {''|NULL}, lease_until = 0, rank_at = {0|NULL}
	WHERE key = $1 AND state = 2 RETURNING kind`
	sqlSeals = `SELECT s.key, i.id, s.transfer, s.state, s.arrived, s.status, s.ended_at, s.pages, ` + sqlNow + ` FROM perdure.seal s
	JOIN perdure.instance i ON i.key = s.key WHERE s.state > 0 AND s.key > $1`
)

// Seal implements [provider.Mover].
func (c Calls) Seal(ctx context.Context, req provider.SealRequest) (provider.SealResult, error) {
	m := &Member{Op: "seal", Needs: Needs{Keys: []provider.UUID{req.Key}}}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.SealResult) error { return t.Seal(&req, res) })
}

// Seal brings an instance to the next seal, or back.
func (t *Tx) Seal(req *provider.SealRequest, res *provider.SealResult) error {
	h, err := t.Head(req.Key)
	if err != nil {
		return err
	}
	if h == nil {
		return NotFound("", req.Key)
	}
	s, err := t.seal(h.Key)
	if err != nil {
		return err
	}
	if err := (sealing{t, h, req}).to(&s); err != nil {
		return err
	}
	res.Seal, res.Now = s.Seal, t.Now
	res.Seal.ID = h.ID
	res.Instance, err = t.Row(h.Key)
	return err
}

// sealing is a change of the seal of an instance.
type sealing struct {
	t   *Tx
	h   *Head
	req *provider.SealRequest
}

func (c sealing) to(s *seal) error {
	step, err := c.req.Step(s.Seal)
	switch {
	case errors.Is(err, provider.ErrMoved):
		return moved(c.h, nil)
	case err != nil:
		return fmt.Errorf("instance %q is not sealed by transfer %s: %w", c.h.ID, c.req.Transfer, err)
	}
	switch step {
	case provider.StepHold:
		return c.hold(s)
	case provider.StepAdopt:
		s.Transfer = c.req.Transfer
		return c.t.putSeal(s)
	case provider.StepClose:
		return c.close(s)
	case provider.StepReopen:
		return c.open(s)
	case provider.StepFree:
		return c.free(s)
	case provider.StepStay:
	}
	return nil
}

// hold suspends the instance and ends its leases.
func (c sealing) hold(s *seal) error {
	t, h := c.t, c.h
	switch {
	case h.Deleting:
		return NotFound("", h.Key)
	case h.Status.Ended():
		return fmt.Errorf("instance %q (status %s): %w", h.ID, h.Status, provider.ErrEnded)
	}
	*s = seal{Seal: provider.Seal{Key: h.Key, Transfer: c.req.Transfer, State: provider.SealHeld, Status: h.Status}}
	if err := t.putSeal(s); err != nil {
		return err
	}
	err := t.Rows.Query(Query{SQL: sqlFreeTasks, Args: []any{h.Key}, Writes: true, Each: func(r Row) error {
		t.Free(r.Int(0))
		return nil
	}})
	if err != nil {
		return err
	}
	if err := t.Rows.HoldTasks(h.Key); err != nil {
		return err
	}
	if h.LeaseUntil > t.Elapsed {
		h.Deliveries = max(h.Deliveries-1, 0)
	}
	h.Status, h.StickyOwner, h.StickyUntil = provider.StatusSuspended, "", 0
	t.endTurnLease(h)
	c.stamp()
	return nil
}

// close makes every other call ignore the instance.
func (c sealing) close(s *seal) error {
	h := c.h
	if h.Status != provider.StatusSuspended || h.Deleting { // a release that knows no seals has resumed or deleted it
		return fmt.Errorf("instance %q (status %s): %w", h.ID, h.Status, provider.ErrConflict)
	}
	s.State, h.Deleting = provider.SealClosed, true
	c.t.TouchWide(h)
	c.t.MarkChanged(h.Key)
	return c.t.putSeal(s)
}

// open undoes close. An ended instance is then free.
func (c sealing) open(s *seal) error {
	h := c.h
	s.State, h.Deleting = provider.SealHeld, false
	if s.Status.Ended() {
		s.State, h.Status, h.EndedAt, h.ReadyAt = provider.SealNone, s.Status, s.ended, 0
	}
	c.stamp()
	return c.t.putSeal(s)
}

// free gives the instance back its status.
func (c sealing) free(s *seal) error {
	t, h := c.t, c.h
	s.State, h.Status = provider.SealNone, s.Status
	c.stamp()
	if err := t.putSeal(s); err != nil {
		return err
	}
	if h.Status != provider.StatusRunning {
		return nil
	}
	return t.Rows.ResumeTasks(&t.Effects, h)
}

// stamp gives the instance its new version.
func (c sealing) stamp() {
	t, h := c.t, c.h
	h.Version = c.req.Commit
	if !h.Status.Ended() { // an ended one has changed at its end
		h.UpdatedAt = t.Now
	}
	t.TouchWide(h)
	t.notice(h.Key, h.Execution, 0)
	t.MarkChanged(h.Key)
}

// Seals implements [provider.Mover].
func (qs Queries) Seals(ctx context.Context, req provider.SealsRequest) (provider.SealsResult, error) {
	if err := req.Validate(); err != nil {
		return provider.SealsResult{}, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	after, err := readRowPlace(req.Cursor)
	if err != nil {
		return provider.SealsResult{}, err
	}
	sql, args := sqlSeals, []any{after.key, req.Max + 1}
	if !req.Key.IsZero() {
		sql, args = sql+` AND s.key = $3`, append(args, req.Key)
	}
	res, err := read(ctx, qs.storage, Reading{Op: "seals", Long: true}, func(q Queryer, res *provider.SealsResult) error {
		err := q.Query(Query{SQL: sql + ` ORDER BY s.key LIMIT $2`, Args: args, Each: func(r Row) error {
			res.Now = timeIn(r, 8)
			if n := len(res.Seals); n == req.Max {
				key := res.Seals[n-1].Key
				res.Cursor = rowPlace{key: key[:]}.cursor()
				return ErrStop
			}
			res.Seals = append(res.Seals, scanSeal(r).Seal)
			return nil
		}})
		if err != nil {
			return err
		}
		return now(q, &res.Now)
	})
	qs.storage.ObserveTime(res.Now)
	return res, err
}
