package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlStoredColumns = sqlHeadColumns + `, i.request_id, i.current`
	// Rows are locked one after the other, in the order of their keys. Rows that others hold are returned as held.
	sqlLock = `SELECT w.key, NULL::text, ` + sqlNow + `, ` + sqlExists + `, ` + sqlStoredColumns + `
	FROM (SELECT key FROM unnest($1::uuid[]) k (key) ORDER BY key) w` + sqlEachLocked
	sqlLockIDs = `SELECT w.key, w.id, ` + sqlNow + `, ` + sqlExists + `, ` + sqlStoredColumns + `
	FROM (SELECT key, NULL::text AS id FROM unnest($1::uuid[]) k (key)
		UNION ALL SELECT f.key, n.id FROM unnest($2::text[]) n (id)
		CROSS JOIN LATERAL (SELECT key FROM perdure.instance WHERE id = n.id AND current OFFSET 0) f ORDER BY key) w` + sqlEachLocked
	// Not EXISTS, which the planner may look up in a hash of the whole table where it has no statistics.
	sqlExists     = `i.key IS NOT NULL OR coalesce((SELECT true FROM perdure.instance x WHERE x.key = w.key), false)`
	sqlEachLocked = ` LEFT JOIN LATERAL (SELECT * FROM perdure.instance x WHERE x.key = w.key FOR UPDATE`
	sqlLocked     = `) i ON true`
	sqlSkip       = ` SKIP LOCKED`
	sqlPeek       = `SELECT ` + sqlStoredColumns + ` FROM perdure.instance i WHERE i.key = ANY($1::uuid[])`
)

// instanceRows are the instances that a unit has read and changed.
type instanceRows struct {
	t         *txn
	rows      map[provider.UUID]*stored // nil: there is none
	own       map[provider.UUID]*ownRow // of instances whose other columns are not known
	ids       map[string]provider.UUID
	held      map[provider.UUID]struct{} // by another transaction
	heldID    map[string]struct{}
	cached    map[provider.UUID]*cachedRow // the rows that this process knew without reading
	wrote     map[provider.UUID]struct{}
	described map[provider.UUID]bool // more than the head of the row has changed
}

// stored is an instance as begin read it. It is never changed.
type stored struct {
	relational.Head
	request string
	current bool
}

// queueLocks locks the instances and finds out which ones are held by others.
func (r *instanceRows) queueLocks(b *pgx.Batch, needs *relational.Needs) {
	if len(needs.Keys)+len(needs.IDs) == 0 {
		return
	}
	lock, args := sqlLock, []any{uuids(needs.Keys)}
	if len(needs.IDs) > 0 {
		lock, args = sqlLockIDs, append(args, needs.IDs)
	}
	if !r.t.wait {
		lock += sqlSkip
	}
	for _, key := range needs.Keys {
		r.rows[key] = nil
	}
	for _, id := range needs.IDs {
		r.ids[id] = provider.UUID{}
	}
	b.Queue(r.t.db.names.sql(lock+sqlLocked), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := r.readLocked(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// readLocked reads the result for one wanted instance. An instance that was found by its ID and has lost it since
// counts as held, because another one has the ID now.
func (r *instanceRows) readLocked(rows pgx.Rows) error {
	const before = 4 // columns of the wanted instance
	var key provider.UUID
	var id *string
	var there bool
	if rows.RawValues()[before] == nil {
		args := make([]any, len(rows.RawValues()))
		copy(args, []any{into(&key), &id, &r.t.now, &there})
		if err := rows.Scan(args...); err != nil || !there {
			return err
		}
		r.held[key] = struct{}{}
		if id != nil {
			r.heldID[*id] = struct{}{}
		}
		return nil
	}
	row, err := scanStored(rows, into(&key), &id, &r.t.now, &there)
	if err != nil {
		return err
	}
	r.rows[row.Key] = row
	if row.current {
		r.ids[row.ID] = row.Key
	} else if id != nil {
		r.heldID[*id] = struct{}{}
	}
	return nil
}

// scanStored reads sqlStoredColumns and the columns before them.
func scanStored(rows pgx.Rows, before ...any) (*stored, error) {
	var s stored
	err := rows.Scan(append(headTargets(before, &s.Head), &s.request, &s.current)...)
	return &s, err
}

// queuePeek reads instances that this unit does not change.
func (r *instanceRows) queuePeek(b *pgx.Batch, keys []provider.UUID) {
	for _, key := range keys {
		if _, known := r.rows[key]; !known {
			r.rows[key] = nil
		}
	}
	b.Queue(r.t.db.names.sql(sqlPeek), uuids(keys)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			row, err := scanStored(rows)
			if err != nil {
				return err
			}
			if _, held := r.held[row.Key]; !held && r.rows[row.Key] == nil {
				r.rows[row.Key] = row
			}
		}
		return rows.Err()
	})
}

// LoadHead implements [relational.Rows].
func (r *instanceRows) LoadHead(key provider.UUID) (*relational.Head, error) {
	row, known := r.rows[key]
	if _, held := r.held[key]; held {
		return nil, errHeld
	}
	if !known {
		return nil, &needError{needs: relational.Needs{Keys: []provider.UUID{key}}}
	}
	if row == nil {
		return nil, nil //nolint:nilnil // no instance is an answer
	}
	h := row.Head
	return &h, nil
}

// Current implements [relational.Rows].
func (r *instanceRows) Current(id string) (provider.UUID, error) {
	if _, held := r.heldID[id]; held {
		return provider.UUID{}, errHeld
	}
	key, known := r.ids[id]
	if !known {
		return key, &needError{needs: relational.Needs{IDs: []string{id}}}
	}
	return key, nil
}

// Rivals implements [relational.Rows].
func (r *instanceRows) Rivals(id string, key provider.UUID) (sameID, sameKey *relational.Rival, err error) {
	current, err := r.Current(id)
	if err != nil {
		return nil, nil, err
	}
	if sameID, err = r.rival(current); err != nil {
		return nil, nil, err
	}
	sameKey, err = r.rival(key)
	return sameID, sameKey, err
}

func (r *instanceRows) rival(key provider.UUID) (*relational.Rival, error) {
	if key.IsZero() {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if _, err := r.LoadHead(key); err != nil {
		return nil, err
	}
	row := r.rows[key]
	if row == nil {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return &relational.Rival{Key: row.Key, ID: row.ID, Status: row.Status, Deleting: row.Deleting, Request: row.request}, nil
}

// Attached implements [relational.Rows]. The children are wanted next, so all of them are requested at once.
func (r *instanceRows) Attached(parent provider.UUID) ([]provider.UUID, error) {
	rows, err := r.t.query(sqlAttached, uuid(parent))
	if err != nil {
		return nil, err
	}
	return r.readWanted(rows)
}

// TurnsOf implements [relational.Rows].
func (r *instanceRows) TurnsOf(token provider.UUID) ([]provider.UUID, error) {
	rows, err := r.t.query(sqlTurnsOf, uuid(token))
	if err != nil {
		return nil, err
	}
	return r.readWanted(rows)
}

// readWanted reads a column of keys of instances that are wanted next, and requests all of them at once.
func (r *instanceRows) readWanted(rows pgx.Rows) ([]provider.UUID, error) {
	keys, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (key provider.UUID, err error) {
		return key, r.Scan(into(&key))
	})
	if err != nil {
		return nil, err
	}
	unknown := slices.DeleteFunc(slices.Clone(keys), func(key provider.UUID) bool {
		_, known := r.rows[key]
		return known
	})
	if len(unknown) > 0 {
		return nil, &needError{needs: relational.Needs{Keys: unknown}}
	}
	return keys, nil
}

const (
	sqlTurnsOf  = `SELECT key FROM (SELECT key FROM perdure.instance WHERE lease_token = $1 OFFSET 0) i ORDER BY key`
	sqlAttached = `SELECT key FROM (SELECT key FROM perdure.instance WHERE parent_key = $1 AND parent_close = 0 OFFSET 0) i ORDER BY key`
)

// Instance implements [relational.Rows].
func (r *instanceRows) Instance(key provider.UUID) (provider.Instance, error) {
	if err := r.t.send(); err != nil {
		return provider.Instance{}, err
	}
	list, err := r.t.db.instances(r.t.ctx, r.t.conn, sqlInstance, uuid(key))
	if err != nil {
		return provider.Instance{}, err
	}
	if len(list) == 0 {
		return provider.Instance{}, relational.NotFound("", key)
	}
	return list[0], nil
}

// Retire implements [relational.Rows].
func (r *instanceRows) Retire(key provider.UUID) error {
	r.t.ops.retired = append(r.t.ops.retired, key)
	return nil
}

// Block implements [relational.Rows].
func (r *instanceRows) Block(key provider.UUID, f *provider.TurnFailure, now provider.Time, fresh bool) error {
	r.described[key] = true
	r.t.ops.blocked = append(r.t.ops.blocked, blockedRow{key, f.Reason, f.Message, now, fresh})
	return nil
}

// ClearBlocked implements [relational.Rows].
func (r *instanceRows) ClearBlocked(key provider.UUID) error {
	r.described[key] = true
	r.t.ops.unblocked = append(r.t.ops.unblocked, key)
	return nil
}

// SetCustomStatus implements [relational.Rows].
func (r *instanceRows) SetCustomStatus(key provider.UUID, status []byte) error {
	r.described[key] = true
	if len(status) == 0 {
		status = nil
	}
	r.disown(key)
	r.t.ops.custom = append(r.t.ops.custom, keyBytes{key, status})
	return nil
}

// SetResult implements [relational.Rows].
func (r *instanceRows) SetResult(key provider.UUID, result []byte, failure *relational.Failure) error {
	r.described[key] = true
	if before := r.own[key]; before != nil {
		r.own[key] = &ownRow{before.created, result, failure}
		r.t.ops.later(func() { r.own[key] = before })
	}
	r.t.ops.results = append(r.t.ops.results, resultRow{keyBytes{key, result}, failure})
	return nil
}

// SetAttributes implements [relational.Rows].
func (r *instanceRows) SetAttributes(key provider.UUID, list []provider.Attribute) error {
	r.described[key] = true
	r.disown(key)
	for _, a := range list {
		r.t.ops.attributes = append(r.t.ops.attributes, attributeRow{a, key})
	}
	return nil
}

// SetValue implements [relational.Rows].
func (r *instanceRows) SetValue(key provider.UUID, v provider.KeyValue) error {
	r.t.ops.values = append(r.t.ops.values, valueRow{v, key})
	return nil
}

// disown drops an ownRow after a change of something that it does not hold.
func (r *instanceRows) disown(key provider.UUID) {
	delete(r.own, key)
}
