package relational

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

const (
	// An abandoned child outlives its parent. A plain delete must not remove it unasked.
	sqlRunsBelow = `WITH RECURSIVE tree (key) AS (SELECT $1{::uuid|} UNION SELECT i.key FROM perdure.instance i JOIN tree
	ON i.parent_key = tree.key) SELECT i.id FROM tree JOIN perdure.instance i ON i.key = tree.key WHERE i.status < 3 LIMIT 1`
	sqlToMark   = `SELECT key FROM perdure.instance WHERE parent_key = $1 AND NOT deleting LIMIT $2`
	sqlOneChild = `SELECT key FROM perdure.instance WHERE parent_key = $1 LIMIT 1`
	// Rows that others delete, too, are locked in one order.
	sqlDropLettersOf = `DELETE FROM perdure.dead_letter WHERE {id IN (SELECT id FROM perdure.dead_letter WHERE key = $1 ORDER BY id FOR UPDATE)|key = $1}`
	sqlDropAsksOf    = `DELETE FROM perdure.ask WHERE {ask_id IN (SELECT ask_id FROM perdure.ask WHERE key = $1 ORDER BY ask_id FOR UPDATE)|key = $1}`
)

// markBatch is how many children one transaction of a deletion marks.
const markBatch = 100

// Delete implements [provider.Cleaner].
func (qs Queries) Delete(ctx context.Context, req provider.DeleteRequest) (provider.DeleteResult, error) {
	if err := req.Validate(); err != nil {
		return provider.DeleteResult{}, err
	}
	m := &Member{Op: "delete", Needs: NamedNeeds(req.ID, req.Key)}
	key, err := Do(ctx, qs.enqueue, m, false, func(t *Tx, key *provider.UUID) error {
		h, err := t.Find(req.ID, req.Key)
		switch {
		case err != nil:
			return err
		case h == nil:
			return NotFound(req.ID, req.Key)
		}
		if !req.Force && !h.Deleting {
			if err := t.checkEnded(h); err != nil {
				return err
			}
		}
		*key = h.Key
		return t.MarkDeleting(h, nobodysVersion())
	})
	if err != nil {
		return provider.DeleteResult{}, err
	}
	n, err := qs.remove(ctx, key)
	return provider.DeleteResult{Instances: n}, err
}

// RemoveEnded removes ended instances, except those that were reset meanwhile and those above one that runs.
func RemoveEnded(ctx context.Context, qs Queries, keys []provider.UUID) (res provider.PruneResult, err error) {
	for _, key := range keys {
		m := &Member{Op: "prune", Needs: Needs{Keys: []provider.UUID{key}}}
		marked, err := Do(ctx, qs.enqueue, m, false, func(t *Tx, ok *bool) error {
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
			*ok = true
			return t.MarkDeleting(h, nobodysVersion())
		})
		if err != nil {
			return res, err
		}
		if marked {
			n, err := qs.remove(ctx, key)
			res.Instances += n
			if err != nil {
				return res, err
			}
		}
	}
	return res, nil
}

// nobodysVersion returns a version that no request will name.
func nobodysVersion() (v provider.UUID) {
	_, _ = rand.Read(v[:]) // never fails
	return v
}

// checkEnded returns ErrRunning while the instance or one below it has not ended.
func (t *Tx) checkEnded(h *Head) error {
	if !h.Status.Ended() {
		return fmt.Errorf("instance %q: %w", h.ID, provider.ErrRunning)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	running := ""
	err := t.Rows.Query(Query{SQL: sqlRunsBelow, Args: []any{h.Key}, Each: func(r Row) error {
		running = fmt.Sprintf("%q", r.Text(0))
		return nil
	}})
	if err == nil && running != "" {
		err = fmt.Errorf("instance %q: %s: %w", h.ID, running, provider.ErrRunning)
	}
	return err
}

// removal is what one transaction of a deletion did. Its path goes on in the next one, because a tree may be deeper than a
// batch.
type removal struct {
	path    []provider.UUID // from the root to where it stands; empty when all is gone
	removed int64
}

// remove removes the tree below a marked instance in short transactions. It goes down to a leaf, marking on the way, removes
// the leaf, and repeats. If it is stopped, all that is left is marked or below a marked instance, so a repetition goes on.
func (qs Queries) remove(ctx context.Context, root provider.UUID) (total int64, err error) {
	for path := []provider.UUID{root}; len(path) > 0; {
		m := &Member{Op: "delete", Needs: Needs{Keys: path[len(path)-1:]}}
		step, err := Do(ctx, qs.enqueue, m, false, func(t *Tx, s *removal) error { return t.removeSome(path, qs.batch, s) })
		if err != nil {
			return total, err
		}
		total += step.removed
		path = step.path
	}
	return total, nil
}

func (t *Tx) removeSome(path []provider.UUID, batch int, s *removal) error {
	path = slices.Clone(path) // the group may run twice
	for work := 0; work < batch && len(path) > 0; work++ {
		key := path[len(path)-1]
		child, err := t.markChildren(key)
		if err != nil {
			return err
		}
		if !child.IsZero() {
			path = append(path, child)
			continue
		}
		erased, err := t.erase(key)
		if err != nil {
			return err
		}
		if erased {
			s.removed++
		}
		path = path[:len(path)-1]
	}
	s.path = path
	return nil
}

// markChildren marks some children and returns one that is left, zero for none.
func (t *Tx) markChildren(parent provider.UUID) (child provider.UUID, err error) {
	var keys []provider.UUID
	err = t.Rows.Query(Query{SQL: sqlToMark, Args: []any{parent, markBatch}, Each: func(r Row) error {
		keys = append(keys, r.UUID(0))
		return nil
	}})
	if err != nil {
		return child, err
	}
	if len(keys) == 0 {
		return child, t.Rows.Query(Query{SQL: sqlOneChild, Args: []any{parent}, Each: func(r Row) error {
			child = r.UUID(0)
			return nil
		}})
	}
	if err := t.Rows.Want(keys); err != nil {
		return child, err
	}
	for _, key := range keys {
		h, err := t.Head(key)
		if err == nil && h != nil {
			err = t.MarkDeleting(h, nobodysVersion())
		}
		if err != nil {
			return child, err
		}
	}
	return keys[0], t.Flush()
}

// erase removes all rows of one marked instance without children. It returns false if there was none.
func (t *Tx) erase(key provider.UUID) (bool, error) {
	h, err := t.Head(key)
	if err == nil && h != nil {
		err = t.Store(h)
	}
	if err != nil || h == nil {
		return false, err
	}
	if err := t.Rows.EraseTasks(key); err != nil {
		return false, err
	}
	list := []Query{{SQL: sqlDropLettersOf}, {SQL: sqlDropAsksOf}}
	for _, table := range []string{"outcome", "execution", "history", "inbox", "attribute", "value", "request", "listener", "instance"} {
		list = append(list, Query{SQL: `DELETE FROM perdure.` + table + ` WHERE key = $1`})
	}
	for i := range list {
		list[i].Args = []any{key}
	}
	if err := t.Rows.Query(list...); err != nil {
		return false, err
	}
	delete(t.Heads, key)
	t.Changes++
	t.News(key)
	return true, nil
}
