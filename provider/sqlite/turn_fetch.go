package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlFindTurns = `SELECT key, fetch_at, ready_at, sticky_owner, sticky_until FROM perdure_instance
		INDEXED BY perdure_instance_fetch WHERE kind = ? AND fetch_at <= ? ORDER BY fetch_at`
	// These read the index alone, and the row alone, for a search that must get past damaged rows.
	sqlTurnKeys = `SELECT key, fetch_at FROM perdure_instance INDEXED BY perdure_instance_fetch
		WHERE kind = ? AND fetch_at <= ? ORDER BY fetch_at`
	sqlTurnPlace    = `SELECT ready_at, sticky_owner, sticky_until FROM perdure_instance WHERE key = ?`
	sqlTurnMessages = `SELECT id, kind, execution, event_id, timer, visible_at, payload, sum FROM perdure_inbox
		WHERE key = ? AND visible_at <= ? ORDER BY visible_at, id`
)

// A turnFetch is one waiting FetchTurns. The writer owns it until the call is done.
type turnFetch struct {
	req  provider.FetchTurnsRequest
	caps map[provider.Capability]struct{}
	res  provider.FetchTurnsResult
	dead map[string]bool // whether an owner that instances are kept for is dead, as found by this search
}

type turnPlace struct {
	key   provider.UUID
	at    int64
	ready int64
	kind  int64
}

func (f *turnFetch) fits(kind relational.TurnKind) bool {
	_, ok := f.caps[kind.Capability]
	return ok && kind.Level <= f.req.EngineLevel
}

func (f *turnFetch) wants(t *tx) bool {
	for id := range t.Effects.Turns {
		if f.fits(t.kinds.ByTurn[id]) {
			return true
		}
	}
	return false
}

func (f *turnFetch) find(t *tx) (bool, error) {
	list, err := f.places(t, 1)
	for _, place := range list {
		delete(t.emptyKinds, place.kind)
	}
	return len(list) > 0, err
}

// places finds the instances to take, in order.
func (f *turnFetch) places(t *tx, limit int) (list []turnPlace, err error) {
	for c := range f.caps {
		for _, id := range t.kinds.ByCap[c] {
			if t.kinds.ByTurn[id].Level > f.req.EngineLevel {
				continue
			}
			t.schedule.watched.turns.watch(id, t.Elapsed)
			if _, none := t.emptyKinds[id]; none {
				continue
			}
			some, err := f.ofKind(t, id, limit)
			if err != nil {
				return nil, err
			}
			list = append(list, some...)
		}
	}
	// Looking ahead is worth it for many at once: until the first is near, nothing is claimed.
	near := t.Now.Add(f.req.Ahead / 2)
	if !slices.ContainsFunc(list, func(place turnPlace) bool { return place.at <= int64(near) }) {
		return nil, nil
	}
	slices.SortStableFunc(list, func(a, b turnPlace) int {
		return cmp.Or(cmp.Compare(a.ready, b.ready), cmp.Compare(a.at, b.at))
	})
	for ; len(list) > limit; list = list[:len(list)-1] {
		delete(t.emptyKinds, list[len(list)-1].kind)
	}
	return list, nil
}

// ofKind finds the first instances of a kind.
func (f *turnFetch) ofKind(t *tx, kind int64, limit int) (list []turnPlace, err error) {
	if len(t.schedule.skips) == 0 {
		kept := false // for another owner
		err = t.each(sqlFindTurns, func(r *row) error {
			place := turnPlace{key: r.uuid(0), at: r.int(1), ready: r.int(2), kind: kind}
			if f.allowed(t, place, r.text(3), r.int(4)) {
				list = append(list, place)
			} else {
				kept = true
			}
			return stopAt(len(list), limit)
		}, kind, t.Now.Add(f.req.Ahead))
		if err == nil && len(list) < limit && !kept && f.req.Ahead/2 >= t.schedule.lead && t.schedule.watched.turns.covers(kind) {
			t.emptyKinds[kind] = struct{}{} // once those of the list are claimed
		}
		if !damaged(err) {
			return list, err
		}
	}
	list = nil
	err = t.each(sqlTurnKeys, func(r *row) error {
		place := turnPlace{key: r.uuid(0), at: r.int(1)}
		ref := provider.TaskRef{Key: place.key}
		if t.schedule.skips.has(ref) {
			return nil
		}
		_, err := t.one(sqlTurnPlace, func(r *row) {
			if place.ready = r.int(0); f.allowed(t, place, r.text(1), r.int(2)) {
				list = append(list, place)
			}
		}, place.key)
		if err != nil {
			return damageTo(ref, err)
		}
		return stopAt(len(list), limit)
	}, kind, t.Now.Add(f.req.Ahead))
	return list, err
}

// allowed reports whether an instance is not kept for another owner, nor held back by more than its messages. Nothing is kept
// for an owner whose processes are all known dead, because the liveness check has removed it.
func (f *turnFetch) allowed(t *tx, place turnPlace, sticky string, until int64) bool {
	if place.at > int64(t.Now) && place.at > place.ready {
		return false
	}
	if until <= t.Elapsed || sticky == f.req.Owner {
		return true
	}
	dead, known := f.dead[sticky]
	if !known {
		served, err := t.integer(sqlServed, sticky)
		if dead = err == nil && served == 0; f.dead == nil {
			f.dead = make(map[string]bool)
		}
		f.dead[sticky] = dead
	}
	if !dead {
		t.WakeElapsed(until)
	}
	return dead
}

func stopAt(n, limit int) error {
	if n >= limit {
		return errStop
	}
	return nil
}

func (f *turnFetch) take(t *tx) (bool, error) {
	f.res, f.dead = provider.FetchTurnsResult{Now: t.Now}, nil
	list, err := f.places(t, f.req.Max)
	if err == nil && len(list) > 0 {
		err = t.enroll(f.req.Owner)
	}
	if err != nil {
		return false, err
	}
	f.res.Turns = make([]provider.Turn, 0, len(list))
	for i, place := range list {
		f.res.Turns = f.res.Turns[:i+1]
		if err := f.claim(t, place.key, &f.res.Turns[i]); err != nil {
			f.res.Turns = f.res.Turns[:i]
			return false, damageTo(provider.TaskRef{Key: place.key}, err)
		}
	}
	return len(f.res.Turns) > 0, nil
}

// claim leases one instance and reads what its turn needs.
func (f *turnFetch) claim(t *tx, key provider.UUID, turn *provider.Turn) error {
	h, err := t.Head(key)
	if err != nil {
		return err
	}
	if h == nil {
		return fmt.Errorf("perdure_instance %s: %w: it is in the index only", key, errRow)
	}
	turn.Instance, err = t.Row(key)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return fmt.Errorf("perdure_instance %s: %w: its kind is missing", key, errRow)
	case err != nil:
		return err
	}
	size := 0
	err = t.each(sqlTurnMessages, func(r *row) error {
		payload := r.sound(6, 7)
		if r.bad != nil {
			return fmt.Errorf("message %d: %w", r.int(0), r.bad)
		}
		if n := len(turn.Messages); n > 0 && (n == f.req.MaxMessages || size+len(payload) > f.req.MaxBytes) {
			turn.More = true
			return errStop
		}
		size += len(payload)
		turn.Messages = append(turn.Messages, provider.Message{
			ID: r.int(0), Kind: provider.MessageKind(r.int(1)), Execution: r.int(2), EventID: r.int(3),
			Timer: r.bool(4), VisibleAt: r.time(5), Payload: payload,
		})
		return nil
	}, key, t.Now.Add(f.req.Ahead))
	if err != nil {
		return fmt.Errorf("perdure_inbox: %w", err)
	}
	h.LeaseToken, h.LeaseOwner, h.LeaseUntil = f.req.Token, f.req.Owner, t.Lease(f.req.Lease)
	h.Deliveries++
	t.TouchWide(h)
	turn.Instance.Deliveries = h.Deliveries
	return nil
}

// undo gives the instances back, each with its delivery.
func (f *turnFetch) undo(t *tx) error {
	for i := range f.res.Turns {
		item := provider.TurnRelease{Key: f.res.Turns[i].Instance.Key, Token: f.req.Token}
		if _, err := t.ReleaseTurn(&item); err != nil {
			return err
		}
	}
	return nil
}
