package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

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
	sqlChildren      = `SELECT key FROM perdure.instance WHERE parent_key = $1 AND NOT deleting LIMIT $2`
	sqlOneChild      = `SELECT key FROM perdure.instance WHERE parent_key = $1 LIMIT 1`
	sqlDropLettersOf = `DELETE FROM perdure.dead_letter WHERE id IN (SELECT id FROM perdure.dead_letter WHERE key = $1 ORDER BY id FOR UPDATE)`
	sqlDropAsksOf    = `DELETE FROM perdure.ask WHERE ask_id IN (SELECT ask_id FROM perdure.ask WHERE key = $1 ORDER BY ask_id FOR UPDATE)`
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
	sqlPruneTime  = `SELECT ` + sqlNow + ` - $1::bigint`
)

// deleteBatch is how many children one transaction of a deletion marks.
const deleteBatch = 100

// deleter removes instances with everything below them.
type deleter struct{ group *group }

// delete removes the tree below an instance.
func (d deleter) delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	if err := req.Validate(); err != nil {
		return provider.DeleteResult{}, err
	}
	key, err := write(ctx, d.group, "delete", 0, relational.NamedNeeds(req.ID, req.Key), func(t *relational.Tx, key *provider.UUID) error {
		h, err := t.Find(req.ID, req.Key)
		if err != nil {
			return err
		}
		if h == nil {
			return relational.NotFound(req.ID, req.Key)
		}
		*key = h.Key
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
		return t.MarkDeleting(h, nobodysVersion())
	})
	if err != nil {
		return provider.DeleteResult{}, err
	}
	n, err := d.remove(ctx, key)
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

// remove removes the tree below a marked instance in short transactions. Each pass goes down to a leaf, marks on the
// way, and removes the leaf. If it is stopped, everything left is marked or below something marked, so that a repeated
// call can continue.
func (d deleter) remove(ctx context.Context, root provider.UUID) (total int64, err error) {
	for path := []provider.UUID{root}; len(path) > 0; {
		key := path[len(path)-1]
		child, err := d.markChildren(ctx, key)
		if err != nil {
			return total, err
		}
		if !child.IsZero() {
			path = append(path, child)
			continue
		}
		n, err := d.erase(ctx, key)
		if err != nil {
			return total, err
		}
		total += n
		path = path[:len(path)-1]
	}
	return total, nil
}

// markChildren marks some children and returns one that is left, zero for none.
func (d deleter) markChildren(ctx context.Context, parent provider.UUID) (provider.UUID, error) {
	return write(ctx, d.group, "delete", 0, relational.Needs{}, func(t *relational.Tx, child *provider.UUID) error {
		u := unitOf(t)
		keys, err := u.keys(sqlChildren, uuid(parent), deleteBatch)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			left, err := u.keys(sqlOneChild, uuid(parent))
			if len(left) > 0 {
				*child = left[0]
			}
			return err
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
		for _, key := range keys {
			h, err := t.Head(key)
			if err != nil {
				return err
			}
			if h != nil {
				if err := t.MarkDeleting(h, nobodysVersion()); err != nil {
					return err
				}
			}
		}
		*child = keys[0]
		return nil
	})
}

// erase removes all rows of one marked instance without children. It returns 0 if there was none.
func (d deleter) erase(ctx context.Context, key provider.UUID) (int64, error) {
	return write(ctx, d.group, "delete", 0, relational.Needs{Keys: []provider.UUID{key}}, func(t *relational.Tx, n *int64) error {
		h, err := t.Head(key)
		if err != nil || h == nil {
			return err
		}
		u := unitOf(t)
		if err := u.send(); err != nil {
			return err
		}
		b := &pgx.Batch{}
		u.queueTasksOff(b, u.db.names.sql(sqlEraseTasks), uuid(key))
		for _, table := range []string{"outcome", "execution", "history", "inbox", "attribute", "value", "request", "listener", "seal"} {
			b.Queue(u.db.names.sql(`DELETE FROM perdure.`+table+` WHERE key = $1`), uuid(key))
		}
		for _, sql := range []string{sqlDropLettersOf, sqlDropAsksOf, `DELETE FROM perdure.instance WHERE key = $1`} {
			b.Queue(u.db.names.sql(sql), uuid(key))
		}
		if err := u.exchange(b); err != nil {
			return err
		}
		t.Changes++
		t.Effects.Changed = append(t.Effects.Changed, key)
		delete(t.Heads, key)
		*n = 1
		return nil
	})
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

// positionOf scans a time and a key.
func positionOf(row pgx.CollectableRow) (p relational.Position, err error) {
	var key pgtype.UUID
	err = row.Scan(&p.At, &key)
	p.Key = key.Bytes
	return p, err
}

// pruneOne removes one ended instance, unless it was reset meanwhile or one below it runs.
func (d deleter) pruneOne(ctx context.Context, key provider.UUID) (int64, error) {
	marked, err := write(ctx, d.group, "prune", 0, relational.Needs{Keys: []provider.UUID{key}}, func(t *relational.Tx, ok *bool) error {
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
		*ok = true
		return t.MarkDeleting(h, nobodysVersion())
	})
	if err != nil || !marked {
		return 0, err
	}
	return d.remove(ctx, key)
}
