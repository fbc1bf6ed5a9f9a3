package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// An abandoned child outlives its parent. A plain delete must not remove it unasked.
	// OFFSET 0 keeps the planner from reading the whole table, which it prefers where it has no statistics.
	sqlRunsBelow = `WITH RECURSIVE tree (key) AS (SELECT $1::uuid UNION SELECT c.key FROM tree, LATERAL (SELECT i.key FROM perdure.instance i
	WHERE i.parent_key = tree.key OFFSET 0) c) SELECT r.id FROM tree, LATERAL (SELECT i.id FROM perdure.instance i
	WHERE i.key = tree.key AND i.status < 3 OFFSET 0) r LIMIT 1`
	sqlChildren = `SELECT key FROM perdure.instance WHERE parent_key = $1 LIMIT $2`
	// Those of some instances that have children.
	sqlParents = `SELECT w.key FROM unnest($1::uuid[]) w (key), LATERAL (SELECT 1 FROM perdure.instance i WHERE i.parent_key = w.key LIMIT 1) c`
	// All rows of some instances, in one statement: one for each table took twice the CPU time. Dead letters and questions can be locked
	// without their instance, in the order of their IDs.
	sqlErase = `WITH o AS (DELETE FROM perdure.outcome WHERE key = ANY($1::uuid[])), e AS (DELETE FROM perdure.execution WHERE key = ANY($1)),
	h AS (DELETE FROM perdure.history WHERE key = ANY($1)), m AS (DELETE FROM perdure.inbox WHERE key = ANY($1)),
	a AS (DELETE FROM perdure.attribute WHERE key = ANY($1)), v AS (DELETE FROM perdure.value WHERE key = ANY($1)),
	r AS (DELETE FROM perdure.request WHERE key = ANY($1)), l AS (DELETE FROM perdure.listener WHERE key = ANY($1)),
	s AS (DELETE FROM perdure.seal WHERE key = ANY($1)), i AS (DELETE FROM perdure.instance WHERE key = ANY($1)),
	d AS (DELETE FROM perdure.dead_letter WHERE id IN (SELECT id FROM perdure.dead_letter WHERE key = ANY($1) ORDER BY id FOR UPDATE)),
	q AS (DELETE FROM perdure.ask WHERE ask_id IN (SELECT ask_id FROM perdure.ask WHERE key = ANY($1) ORDER BY ask_id FOR UPDATE))
	DELETE FROM perdure.task WHERE key = ANY($1) RETURNING kind, lease_until`
	// The ended instances to scan, oldest end first.
	sqlScanned = `SELECT l.ended_at, l.key FROM perdure.instance l WHERE l.ended_at > 0 AND l.ended_at >= $2 AND l.ended_at <= $1
	AND (l.ended_at > $2 OR l.key > $3) ORDER BY l.ended_at, l.key LIMIT `
	// Trees that cannot be pruned must not crowd out those that can. Each instance is looked up by itself, in this order, until enough are
	// found: nothing is joined, so that the planner never reads a whole table.
	sqlPrunable = `SELECT d.ended_at, d.key FROM (` + sqlScanned + `$4) d, LATERAL (SELECT 1 FROM perdure.instance i WHERE i.key = d.key
	AND (i.parent_key IS NULL OR NOT coalesce((SELECT p.execution <= i.parent_execution FROM perdure.instance p WHERE p.key = i.parent_key), false))
	AND (cardinality($5::text[]) = 0 OR i.kind IN (SELECT k.id FROM perdure.kind k WHERE k.name = ANY($5)))
	AND (cardinality($6::text[]) = 0 OR i.kind NOT IN (SELECT k.id FROM perdure.kind k WHERE k.name = ANY($6)))
	AND (cardinality($7::smallint[]) = 0 OR i.status = ANY($7))
	AND (i.deleting OR NOT EXISTS (WITH RECURSIVE tree (key) AS (SELECT i.key UNION SELECT c.key FROM tree,
	LATERAL (SELECT x.key FROM perdure.instance x WHERE x.parent_key = tree.key OFFSET 0) c)
	SELECT 1 FROM tree, LATERAL (SELECT 1 FROM perdure.instance r WHERE r.key = tree.key AND (r.status < 3
	OR cardinality($8::uuid[]) > 0 AND r.key = ANY($8)) OFFSET 0) kept)) OFFSET 0) i
	ORDER BY d.ended_at, d.key LIMIT $9`
	sqlScannedLast = sqlScanned + `1 OFFSET $4`
	sqlTreeSizes   = `SELECT (WITH RECURSIVE tree (key) AS (SELECT k.key UNION SELECT c.key FROM tree, LATERAL (SELECT i.key FROM perdure.instance i
	WHERE i.parent_key = tree.key AND i.key <> ALL ($1) OFFSET 0) c) SELECT count(*) FROM tree) FROM unnest($1::uuid[]) WITH ORDINALITY k (key, n) ORDER BY k.n`
	sqlPruneTime = `SELECT ` + sqlNow + ` - $1::bigint`
)

// deleteBatch is how many children one transaction of a deletion marks or removes.
const deleteBatch = 100

// pruneBatch is how many trees one transaction of Prune begins to remove. One for each tree took twelve times the CPU time.
const pruneBatch = 25

// deleter removes instances with everything below them.
type deleter struct{ group *group }

// delete removes the tree below an instance.
func (d deleter) delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	if err := req.Validate(); err != nil {
		return provider.DeleteResult{}, err
	}
	begun, err := doOwnTx(ctx, d.group, "delete", relational.NamedNeeds(req.ID, req.Key), func(t *relational.Tx, r *removal) error {
		h, err := t.Find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if h == nil {
			return relational.NotFound(req.ID, req.Key)
		}
		if !req.Force {
			if err := t.CheckFree(h); err != nil {
				return err
			}
		}
		return removeLeaves(t, []*relational.Head{h}, r, func(h *relational.Head, parent bool) (bool, error) {
			if req.Force || h.Deleting {
				return true, nil
			}
			return true, checkEnded(t, h, parent)
		})
	})
	if err != nil {
		return provider.DeleteResult{}, err
	}
	n, err := d.remove(ctx, begun)
	return provider.DeleteResult{Instances: n}, err
}

// nobodysVersion returns a version that no commit names.
func nobodysVersion() (v provider.UUID) {
	_, _ = rand.Read(v[:]) // never fails
	return v
}

// checkEnded returns ErrRunning while the instance or one below it has not ended.
func checkEnded(t *relational.Tx, h *relational.Head, parent bool) error {
	if !h.Status.Ended() {
		return fmt.Errorf("instance %q: %w", h.ID, provider.ErrRunning)
	}
	if !parent {
		return nil
	}
	rows, err := unitOf(t).query(sqlRunsBelow, uuid(h.Key))
	if err != nil {
		return err
	}
	running, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(running) > 0 {
		err = fmt.Errorf("instance %q: %q: %w", h.ID, running[0], provider.ErrRunning)
	}
	return err
}

// A removal is what one transaction of a deletion did.
type removal struct {
	removed int64
	marked  []provider.UUID // marked, and with children
	whole   bool            // nothing below the instance is left, and itself neither
}

// remove goes on removing trees in short transactions. Each removes the children of an instance that are leaves, and marks the others, to
// which it then goes down. If it is stopped, everything left is marked or below something marked, so that a repeated call can continue.
func (d deleter) remove(ctx context.Context, begun removal) (total int64, err error) {
	total = begun.removed
	for path := begun.marked; len(path) > 0; {
		key := path[len(path)-1]
		r, err := doOwnTx(ctx, d.group, "delete", relational.Needs{Keys: []provider.UUID{key}}, func(t *relational.Tx, r *removal) error {
			return removeBelow(t, key, r)
		})
		if err != nil {
			return total, err
		}
		total += r.removed
		if r.whole {
			path = path[:len(path)-1]
		}
		path = append(path, r.marked...)
	}
	return total, nil
}

// removeBelow removes some children of an instance. It leaves those with children, and the instance if it may have more. It removes the
// instance if it has none.
func removeBelow(t *relational.Tx, key provider.UUID, r *removal) error {
	u := unitOf(t)
	keys, err := u.keys(sqlChildren, uuid(key), deleteBatch)
	if err != nil {
		return err
	}
	if r.whole = len(keys) == 0; r.whole {
		keys = []provider.UUID{key}
	}
	var unknown []provider.UUID
	for _, key := range keys {
		if _, known := u.rows[key]; !known {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		return &needError{needs: relational.Needs{Keys: unknown}}
	}
	heads, err := headsOf(t, keys)
	if err != nil {
		return err
	}
	return removeLeaves(t, heads, r, nil)
}

// removeLeaves marks instances, and removes those without children. may reports whether one of them goes at all, also by whether it has
// children; nil: each does.
func removeLeaves(t *relational.Tx, heads []*relational.Head, r *removal, may func(h *relational.Head, parent bool) (bool, error)) error {
	if len(heads) == 0 {
		return nil
	}
	keys := make([]provider.UUID, len(heads))
	for n, h := range heads {
		keys[n] = h.Key
	}
	u := unitOf(t)
	parents, err := u.keys(sqlParents, uuids(keys))
	if err != nil {
		return err
	}
	for _, h := range heads {
		parent := slices.Contains(parents, h.Key)
		if may != nil {
			if goes, err := may(h, parent); err != nil {
				return err
			} else if !goes {
				continue
			}
		}
		if err := t.MarkDeleting(h, nobodysVersion()); err != nil {
			return err
		}
		if parent {
			r.marked = append(r.marked, h.Key)
			continue
		}
		u.ops.erased = append(u.ops.erased, h.Key)
		t.Effects.Changed = append(t.Effects.Changed, h.Key)
		delete(t.Heads, h.Key)
		r.removed++
	}
	if r.removed > 0 {
		t.Changes++
	}
	return nil
}

// prune removes trees that ended long ago.
func (d deleter) prune(ctx context.Context, req provider.PruneRequest) (res provider.PruneResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxBatch
	}
	statuses := make([]int16, len(req.Statuses))
	for i, s := range req.Statuses {
		statuses[i] = int16(s)
	}
	found, err := relational.FindPrunable(&req, func(from relational.Position, maxScanned int) (relational.Prunable, error) {
		return d.prunable(ctx, &req, statuses, from, maxScanned)
	})
	if err != nil {
		return res, err
	}
	if req.Look {
		return found.Preview(func(keys []provider.UUID) ([]int64, error) { return d.sizes(ctx, keys) })
	}
	res.Cursor = found.Cursor
	for some := range slices.Chunk(found.Keys, pruneBatch) {
		n, err := d.pruneSome(ctx, some)
		res.Instances += n
		if err != nil {
			return res, err
		}
	}
	return res, nil
}

// prunable returns which trees may go.
func (d deleter) prunable(
	ctx context.Context, req *provider.PruneRequest, statuses []int16, from relational.Position, maxScanned int,
) (found relational.Prunable, err error) {
	exempt := make([]pgtype.UUID, len(req.Spare))
	for n, key := range req.Spare {
		exempt[n] = uuid(key)
	}
	after := pgtype.UUID{Bytes: from.Key, Valid: true} // zero is before all keys
	err = d.group.db.snapshot(ctx, "prune", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlListing); err != nil {
			return err
		}
		var before int64
		names := d.group.db.names
		if err := tx.QueryRow(ctx, names.sql(sqlPruneTime), req.Age.Microseconds()).Scan(&before); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, names.sql(sqlPrunable), before, int64(from.At), after, maxScanned,
			append([]string{}, req.Names...), append([]string{}, req.ExceptNames...), statuses, exempt, req.Max)
		if err != nil {
			return err
		}
		if found.Trees, err = pgx.CollectRows(rows, positionOf); err != nil || len(found.Trees) == req.Max {
			return err
		}
		if rows, err = tx.Query(ctx, names.sql(sqlScannedLast), before, int64(from.At), after, maxScanned-1); err != nil {
			return err
		}
		found.Last, err = pgx.CollectRows(rows, positionOf)
		return err
	})
	return found, err
}

// sizes returns how many instances each tree has.
func (d deleter) sizes(ctx context.Context, keys []provider.UUID) (all []int64, err error) {
	err = d.group.db.snapshot(ctx, "prune", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlListing); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, d.group.db.names.sql(sqlTreeSizes), uuids(keys))
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return all, err
}

// positionOf scans a time and a key.
func positionOf(row pgx.CollectableRow) (p relational.Position, err error) {
	var key pgtype.UUID
	err = row.Scan(&p.At, &key)
	p.Key = key.Bytes
	return p, err
}

// pruneSome removes ended instances with what is below them, except those that were reset meanwhile, or below which one runs.
func (d deleter) pruneSome(ctx context.Context, keys []provider.UUID) (int64, error) {
	begun, err := doOwnTx(ctx, d.group, "prune", relational.Needs{Keys: keys}, func(t *relational.Tx, r *removal) error {
		heads, err := headsOf(t, keys)
		if err != nil {
			return err
		}
		return removeLeaves(t, heads, r, func(h *relational.Head, parent bool) (bool, error) {
			if h.Deleting {
				return true, nil
			}
			err := checkEnded(t, h, parent)
			if errors.Is(err, provider.ErrRunning) {
				return false, nil // the tree stays
			}
			return true, err
		})
	})
	if err != nil {
		return 0, err
	}
	return d.remove(ctx, begun)
}

// headsOf returns the instances that are there.
func headsOf(t *relational.Tx, keys []provider.UUID) (heads []*relational.Head, err error) {
	for _, key := range keys {
		h, err := t.Head(key)
		if err != nil {
			return nil, err
		}
		if h != nil {
			heads = append(heads, h)
		}
	}
	return heads, nil
}
