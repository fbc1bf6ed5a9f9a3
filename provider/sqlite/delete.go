package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// deleteBatch is how many instances one transaction of a deletion marks or removes.
const deleteBatch = 100

const (
	sqlChildrenToMark = `SELECT key FROM perdure_instance WHERE parent_key = ? AND deleting = 0 LIMIT ?`
	sqlOneChild       = `SELECT key FROM perdure_instance WHERE parent_key = ? LIMIT 1`
	// An abandoned child outlives its parent, so a plain delete must not remove it while it runs.
	sqlRunsBelow = `WITH RECURSIVE tree (key) AS (SELECT ? UNION SELECT i.key FROM perdure_instance i JOIN tree
		ON i.parent_key = tree.key) SELECT i.id FROM tree JOIN perdure_instance i ON i.key = tree.key WHERE i.status < 3 LIMIT 1`
	// The ended instances to scan, oldest end first. The index of ends has the keys, too.
	sqlScanned = `SELECT l.ended_at, l.key FROM perdure_instance l WHERE l.ended_at > 0 AND l.ended_at >= ?2 AND l.ended_at <= ?1
		AND (l.ended_at > ?2 OR l.key > ?3) ORDER BY l.ended_at, l.key LIMIT `
	// Instances that cannot be pruned must not fill the page.
	sqlPrunable = `SELECT i.ended_at, i.key FROM (` + sqlScanned + `?4) d CROSS JOIN perdure_instance i ON i.key = d.key WHERE (i.parent_key IS NULL
		OR NOT EXISTS (SELECT 1 FROM perdure_instance p WHERE p.key = i.parent_key AND p.execution <= i.parent_execution))
		AND (?5 IS NULL OR i.kind IN (SELECT k.id FROM perdure_kind k WHERE k.name IN (SELECT value FROM json_each(?5))))
		AND (?6 IS NULL OR i.kind NOT IN (SELECT k.id FROM perdure_kind k WHERE k.name IN (SELECT value FROM json_each(?6))))
		AND (?7 IS NULL OR i.status IN (SELECT value FROM json_each(?7)))
		AND (i.deleting OR NOT EXISTS (WITH RECURSIVE tree (key) AS (SELECT i.key UNION SELECT c.key FROM perdure_instance c JOIN tree
		ON c.parent_key = tree.key) SELECT 1 FROM tree JOIN perdure_instance r ON r.key = tree.key WHERE r.status < 3
		OR ?8 IS NOT NULL AND hex(r.key) IN (SELECT value FROM json_each(?8))))
		ORDER BY i.ended_at, i.key LIMIT ?9`
	sqlScannedLast = sqlScanned + `1 OFFSET ?4`
	sqlTreeSize    = `WITH RECURSIVE tree (key) AS (SELECT ?1 UNION SELECT i.key FROM perdure_instance i JOIN tree
		ON i.parent_key = tree.key WHERE hex(i.key) NOT IN (SELECT value FROM json_each(?2))) SELECT count(*) FROM tree`
)

// A cleaner removes instances.
type cleaner struct{ *handle }

// Delete implements [provider.Cleaner].
func (cl *cleaner) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	if err := req.Validate(); err != nil {
		return provider.DeleteResult{}, err
	}
	first, err := write(ctx, cl.handle, "delete", 0, func(t *tx, s *removal) error {
		h, err := t.Find(req.ID, req.Key)
		switch {
		case err != nil:
			return err
		case h == nil:
			return relational.NotFound(req.ID, req.Key)
		}
		if !req.Force {
			if err := t.CheckFree(h); err != nil {
				return err
			}
		}
		if !req.Force && !h.Deleting {
			if err := t.checkEnded(h); err != nil {
				return err
			}
		}
		return t.begin(h, s)
	})
	if err != nil {
		return provider.DeleteResult{}, err
	}
	n, err := cl.remove(ctx, first)
	return provider.DeleteResult{Instances: n}, err
}

// begin marks an instance and removes it and what is below it, as far as one transaction goes.
func (t *tx) begin(h *relational.Head, s *removal) error {
	if err := t.markDeleting(h); err != nil {
		return err
	}
	if err := t.Flush(); err != nil { // children that others of the group have created count, too
		return err
	}
	return t.removeSome([]provider.UUID{h.Key}, s)
}

// checkEnded returns ErrRunning while the instance or one below it has not ended.
func (t *tx) checkEnded(h *relational.Head) error {
	if err := t.Flush(); err != nil {
		return err
	}
	running := ""
	found, err := t.one(sqlRunsBelow, func(r *row) { running = r.text(0) }, h.Key)
	if err == nil && found {
		err = fmt.Errorf("instance %q: %q: %w", h.ID, running, provider.ErrRunning)
	}
	return err
}

// markDeleting marks an instance with a version that no request will name.
func (t *tx) markDeleting(h *relational.Head) error {
	var version provider.UUID
	_, _ = rand.Read(version[:]) // never fails
	return t.MarkDeleting(h, version)
}

// remove goes on removing a tree in short transactions. It goes down to a leaf, marking on the way, removes
// the leaf, and repeats. If it is stopped, all that is left is marked or below a marked instance, so a repetition goes on.
func (cl *cleaner) remove(ctx context.Context, begun removal) (int64, error) {
	total, path := begun.removed, begun.path
	for len(path) > 0 {
		step, err := write(ctx, cl.handle, "delete", 0, func(t *tx, s *removal) error { return t.removeSome(path, s) })
		if err != nil {
			return total, err
		}
		total += step.removed
		path = step.path
	}
	return total, nil
}

// removal is what one transaction of a deletion did. Its path goes on in the next one, because a tree may be deeper than a
// batch.
type removal struct {
	path    []provider.UUID // from the root to where it stands; empty when all is gone
	removed int64
}

func (t *tx) removeSome(path []provider.UUID, s *removal) error {
	path = slices.Clone(path) // the group may run twice
	for work := 0; work < deleteBatch && len(path) > 0; work++ {
		key := path[len(path)-1]
		children, err := t.keys(sqlOneChild, key)
		if err != nil {
			return err
		}
		if len(children) > 0 {
			if err := t.markChildren(key); err != nil {
				return err
			}
			path = append(path, children[0])
			continue
		}
		n, err := t.erase(key)
		if err != nil {
			return err
		}
		s.removed += n
		path = path[:len(path)-1]
	}
	s.path = path
	return nil
}

func (t *tx) markChildren(parent provider.UUID) error {
	keys, err := t.keys(sqlChildrenToMark, parent, deleteBatch)
	if err != nil {
		return err
	}
	for _, key := range keys {
		h, err := t.Head(key)
		if err != nil {
			return err
		}
		if h != nil {
			if err := t.markDeleting(h); err != nil {
				return err
			}
		}
	}
	return t.Flush()
}

// erase removes all rows of one instance. It returns 0 if there was none.
func (t *tx) erase(key provider.UUID) (int64, error) {
	if h := t.Heads[key]; h != nil {
		if err := t.Store(h); err != nil {
			return 0, err
		}
		delete(t.Heads, key)
	}
	if err := t.freeTasks(key); err != nil {
		return 0, err
	}
	for _, sql := range []string{
		`DELETE FROM perdure_outcome WHERE key = ?`, `DELETE FROM perdure_execution WHERE key = ?`,
		`DELETE FROM perdure_history WHERE key = ?`, `DELETE FROM perdure_inbox WHERE key = ?`,
		`DELETE FROM perdure_task WHERE key = ?`, `DELETE FROM perdure_attribute WHERE key = ?`,
		`DELETE FROM perdure_value WHERE key = ?`, `DELETE FROM perdure_dead_letter WHERE key = ?`,
		`DELETE FROM perdure_request WHERE key = ?`, `DELETE FROM perdure_listener WHERE key = ?`,
		`DELETE FROM perdure_seal WHERE key = ?`,
	} {
		if _, err := t.exec(sql, key); err != nil {
			return 0, err
		}
	}
	if err := t.LeaveSessions(key); err != nil {
		return 0, err
	}
	t.MarkChanged(key)
	return t.exec(`DELETE FROM perdure_instance WHERE key = ?`, key)
}

// Prune implements [provider.Cleaner].
func (cl *cleaner) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	if err := req.Validate(); err != nil {
		return provider.PruneResult{}, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxBatch
	}
	if cl.readOnly && !req.Look {
		return provider.PruneResult{}, refused("prune")
	}
	before := cl.store.clock.wall() - provider.Time(req.Age.Microseconds())
	found, err := relational.FindPrunable(&req, func(from relational.Position, limit int) (relational.Prunable, error) {
		return cl.prunable(ctx, &req, before, from, limit)
	})
	if err != nil {
		return provider.PruneResult{}, err
	}
	if req.Look {
		return found.Preview(func(keys []provider.UUID) ([]int64, error) { return cl.sizes(ctx, keys) })
	}
	res := provider.PruneResult{Cursor: found.Cursor}
	res.Instances, err = pruneAll(found.Keys, func(key provider.UUID) (int64, error) { return cl.prune(ctx, key) })
	return res, err
}

// prunable returns which trees may go. It may scan many rows, so that no writer waits for it.
func (cl *cleaner) prunable(
	ctx context.Context, req *provider.PruneRequest, before provider.Time, from relational.Position, limit int,
) (found relational.Prunable, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = cl.read(ctx, "prune", func(c *conn) error {
		found = relational.Prunable{}
		place := func(list *[]relational.Position) func(*row) error {
			return func(r *row) error {
				*list = append(*list, relational.Position{At: r.time(0), Key: r.uuid(1)})
				return nil
			}
		}
		err := c.each(ctx, sqlPrunable, place(&found.Trees), before, from.At, from.Key[:], limit,
			jsonList(req.Names), jsonList(req.ExceptNames), jsonList(req.Statuses), jsonKeys(req.Spare), req.Max)
		if err != nil || len(found.Trees) == req.Max { // the next call goes on behind the last tree
			return err
		}
		return c.each(ctx, sqlScannedLast, place(&found.Last), before, from.At, from.Key[:], limit-1)
	})
	return found, err
}

// sizes returns how many instances each tree has.
func (cl *cleaner) sizes(ctx context.Context, keys []provider.UUID) (all []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = cl.read(ctx, "prune", func(c *conn) error {
		all = make([]int64, len(keys))
		others := jsonKeys(keys)
		for n, key := range keys {
			all[n] = 1
			parent := false
			err := c.each(ctx, sqlOneChild, func(*row) error { parent = true; return nil }, key[:])
			if err == nil && parent { // each tree reads the whole list of others: most have no children, and need it not
				err = c.each(ctx, sqlTreeSize, func(r *row) error { all[n] = r.int(0); return nil }, key[:], others)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// jsonKeys returns keys as an argument for json_each, null for none.
func jsonKeys(keys []provider.UUID) any {
	texts := make([]string, len(keys))
	for n, key := range keys {
		texts[n] = fmt.Sprintf("%X", key[:])
	}
	return jsonList(texts)
}

// jsonList returns a list as an argument for json_each, null for an empty one.
func jsonList[T string | provider.Status](list []T) any {
	if len(list) == 0 {
		return nil
	}
	values := make([]any, len(list))
	for i, v := range list { // statuses are bytes, which a slice of them would hide
		values[i] = v
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // the types are plain
	}
	return string(text)
}

// prune removes one ended instance, unless it was reset meanwhile.
func (cl *cleaner) prune(ctx context.Context, key provider.UUID) (int64, error) {
	first, err := write(ctx, cl.handle, "prune", 0, func(t *tx, s *removal) error {
		h, err := t.Head(key)
		if err != nil || h == nil {
			return err
		}
		if err := t.checkEnded(h); err != nil && !h.Deleting {
			if errors.Is(err, provider.ErrRunning) {
				return nil // the tree stays
			}
			return err
		}
		return t.begin(h, s)
	})
	if err != nil {
		return 0, err
	}
	return cl.remove(ctx, first)
}

// pruneWidth is how many trees are removed at a time. The writer folds their transactions into one, which writes the log less often. Few of
// them keep that transaction short.
const pruneWidth = 8

// pruneAll removes trees, some at a time, and returns how many instances went. After an error no further one begins.
func pruneAll(keys []provider.UUID, prune func(provider.UUID) (int64, error)) (total int64, err error) {
	for some := range slices.Chunk(keys, pruneWidth) {
		counts, errs := make([]int64, len(some)), make([]error, len(some))
		var all sync.WaitGroup
		for n, key := range some {
			all.Go(func() { counts[n], errs[n] = prune(key) })
		}
		all.Wait()
		for _, n := range counts {
			total += n
		}
		if at := slices.IndexFunc(errs, func(err error) bool { return err != nil }); at >= 0 {
			return total, errs[at]
		}
	}
	return total, nil
}
