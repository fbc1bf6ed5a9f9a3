package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

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
	sqlParents       = `SELECT w.key FROM unnest($1::uuid[]) w (key), LATERAL (SELECT 1 FROM perdure.instance i WHERE i.parent_key = w.key LIMIT 1) c`
	sqlDropLettersOf = `DELETE FROM perdure.dead_letter WHERE id IN (SELECT id FROM perdure.dead_letter WHERE key = ANY($1::uuid[])
	ORDER BY id FOR UPDATE)`
	sqlDropAsksOf = `DELETE FROM perdure.ask WHERE ask_id IN (SELECT ask_id FROM perdure.ask WHERE key = ANY($1::uuid[])
	ORDER BY ask_id FOR UPDATE)`
	// The ended instances to look at, oldest end first.
	sqlLooked = `SELECT l.ended_at, l.key FROM perdure.instance l WHERE l.ended_at > 0 AND l.ended_at >= $2 AND l.ended_at <= $1
	AND (l.ended_at > $2 OR l.key > $3) ORDER BY l.ended_at, l.key LIMIT `
	// Trees that cannot be pruned must not crowd out those that can.
	sqlPrunable = `SELECT i.ended_at, i.key FROM (` + sqlLooked + `$4) d JOIN perdure.instance i ON i.key = d.key WHERE (i.parent_key IS NULL
	OR NOT EXISTS (SELECT 1 FROM perdure.instance p WHERE p.key = i.parent_key AND p.execution <= i.parent_execution))
	AND (cardinality($5::text[]) = 0 OR i.kind IN (SELECT k.id FROM perdure.kind k WHERE k.name = ANY($5)))
	AND (cardinality($6::text[]) = 0 OR i.kind NOT IN (SELECT k.id FROM perdure.kind k WHERE k.name = ANY($6)))
	AND (cardinality($7::smallint[]) = 0 OR i.status = ANY($7))
	AND (i.deleting OR NOT EXISTS (WITH RECURSIVE tree (key) AS (SELECT i.key UNION SELECT c.key FROM perdure.instance c JOIN tree
	ON c.parent_key = tree.key) SELECT 1 FROM tree JOIN perdure.instance r ON r.key = tree.key WHERE r.status < 3
	OR cardinality($8::uuid[]) > 0 AND r.key = ANY($8)))
	ORDER BY i.ended_at, i.key LIMIT $9`
	sqlLookedLast = sqlLooked + `1 OFFSET $4`
	sqlTreeSizes  = `SELECT (WITH RECURSIVE tree (key) AS (SELECT k.key UNION SELECT c.key FROM tree, LATERAL (SELECT i.key FROM perdure.instance i
	WHERE i.parent_key = tree.key AND i.key <> ALL ($1) OFFSET 0) c) SELECT count(*) FROM tree) FROM unnest($1::uuid[]) WITH ORDINALITY k (key, n) ORDER BY k.n`
	sqlPruneTime = `SELECT ` + sqlNow + ` - $1::bigint`
)

// deleteBatch is how many children one transaction of a deletion marks or removes.
const deleteBatch = 100

// deleter removes instances with everything below them.
type deleter struct{ group *group }

// delete removes the tree below an instance.
func (d deleter) delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	if err := req.Validate(); err != nil {
		return provider.DeleteResult{}, err
	}
	begun, err := apart(ctx, d.group, "delete", relational.NamedNeeds(req.ID, req.Key), func(t *relational.Tx, r *removal) error {
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
		if !req.Force && !h.Deleting {
			if err := checkEnded(t, h); err != nil {
				return err
			}
		}
		return removeLeaves(t, []*relational.Head{h}, r)
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
func checkEnded(t *relational.Tx, h *relational.Head) error {
	if !h.Status.Ended() {
		return fmt.Errorf("instance %q: %w", h.ID, provider.ErrRunning)
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
	left    []provider.UUID // marked, and with children
	whole   bool            // nothing below the instance is left, and itself neither
}

// remove goes on removing trees in short transactions. Each removes the children of an instance that are leaves, and marks the others, to
// which it then goes down. If it is stopped, everything left is marked or below something marked, so that a repeated call can continue.
func (d deleter) remove(ctx context.Context, begun removal) (total int64, err error) {
	total = begun.removed
	for path := begun.left; len(path) > 0; {
		key := path[len(path)-1]
		r, err := apart(ctx, d.group, "delete", relational.Needs{Keys: []provider.UUID{key}}, func(t *relational.Tx, r *removal) error {
			return removeBelow(t, key, r)
		})
		if err != nil {
			return total, err
		}
		total += r.removed
		if r.whole {
			path = path[:len(path)-1]
		}
		path = append(path, r.left...)
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
	var heads []*relational.Head
	for _, key := range keys {
		h, err := t.Head(key)
		if err != nil {
			return err
		}
		if h != nil {
			heads = append(heads, h)
		}
	}
	return removeLeaves(t, heads, r)
}

// removeLeaves marks instances, and removes those without children.
func removeLeaves(t *relational.Tx, heads []*relational.Head, r *removal) error {
	if len(heads) == 0 {
		return nil
	}
	var keys []provider.UUID
	for _, h := range heads {
		if err := t.MarkDeleting(h, nobodysVersion()); err != nil {
			return err
		}
		keys = append(keys, h.Key)
	}
	var err error
	if r.left, err = unitOf(t).keys(sqlParents, uuids(keys)); err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(key provider.UUID) bool { return slices.Contains(r.left, key) })
	r.removed = int64(len(keys))
	return erase(t, keys)
}

// erase removes all rows of marked instances without children.
func erase(t *relational.Tx, keys []provider.UUID) error {
	if len(keys) == 0 {
		return nil
	}
	u := unitOf(t)
	if err := u.send(); err != nil {
		return err
	}
	b := &pgx.Batch{}
	u.queueTasksOff(b, u.db.names.sql(sqlEraseTasks), uuids(keys))
	for _, table := range []string{"outcome", "execution", "history", "inbox", "attribute", "value", "request", "listener", "seal"} {
		b.Queue(u.db.names.sql(`DELETE FROM perdure.`+table+` WHERE key = ANY($1::uuid[])`), uuids(keys))
	}
	for _, sql := range []string{sqlDropLettersOf, sqlDropAsksOf, `DELETE FROM perdure.instance WHERE key = ANY($1::uuid[])`} {
		b.Queue(u.db.names.sql(sql), uuids(keys))
	}
	if err := u.exchange(b); err != nil {
		return err
	}
	t.Changes++
	t.Effects.Changed = append(t.Effects.Changed, keys...)
	for _, key := range keys {
		delete(t.Heads, key)
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
	found, err := relational.FindPrunable(&req, func(from relational.Position, looks int) (relational.Prunable, error) {
		return d.prunable(ctx, &req, statuses, from, looks)
	})
	if err != nil {
		return res, err
	}
	if req.Look {
		return found.Looked(func(keys []provider.UUID) ([]int64, error) { return d.sizes(ctx, keys) })
	}
	res.Cursor = found.Cursor
	res.Instances, err = relational.PruneAll(found.Keys, func(key provider.UUID) (int64, error) { return d.pruneOne(ctx, key) })
	return res, err
}

// prunable returns which trees may go.
func (d deleter) prunable(
	ctx context.Context, req *provider.PruneRequest, statuses []int16, from relational.Position, looks int,
) (found relational.Prunable, err error) {
	spare := make([]pgtype.UUID, len(req.Spare))
	for n, key := range req.Spare {
		spare[n] = uuid(key)
	}
	after := pgtype.UUID{Bytes: from.Key, Valid: true} // zero is before all keys
	err = d.group.db.read(ctx, "prune", func(ctx context.Context, c *pgxpool.Conn) error {
		var before int64
		names := d.group.db.names
		if err := c.QueryRow(ctx, names.sql(sqlPruneTime), req.Age.Microseconds()).Scan(&before); err != nil {
			return err
		}
		rows, err := c.Query(ctx, names.sql(sqlPrunable), before, int64(from.At), after, looks,
			append([]string{}, req.Names...), append([]string{}, req.ExceptNames...), statuses, spare, req.Max)
		if err != nil {
			return err
		}
		if found.Trees, err = pgx.CollectRows(rows, positionOf); err != nil {
			return err
		}
		if rows, err = c.Query(ctx, names.sql(sqlLookedLast), before, int64(from.At), after, looks-1); err != nil {
			return err
		}
		found.Last, err = pgx.CollectRows(rows, positionOf)
		return err
	})
	return found, err
}

// sizes returns how many instances each tree has.
func (d deleter) sizes(ctx context.Context, keys []provider.UUID) (all []int64, err error) {
	list := make([]pgtype.UUID, len(keys))
	for n, key := range keys {
		list[n] = uuid(key)
	}
	err = d.group.db.read(ctx, "prune", func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, d.group.db.names.sql(sqlTreeSizes), list)
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

// pruneOne removes one ended instance, unless it was reset meanwhile or one below it runs.
func (d deleter) pruneOne(ctx context.Context, key provider.UUID) (int64, error) {
	begun, err := apart(ctx, d.group, "prune", relational.Needs{Keys: []provider.UUID{key}}, func(t *relational.Tx, r *removal) error {
		h, err := t.Head(key)
		if err != nil || h == nil {
			return err
		}
		if !h.Deleting {
			switch err := checkEnded(t, h); {
			case errors.Is(err, provider.ErrRunning):
				return nil // the tree stays
			case err != nil:
				return err
			}
		}
		return removeLeaves(t, []*relational.Head{h}, r)
	})
	if err != nil {
		return 0, err
	}
	return d.remove(ctx, begun)
}
