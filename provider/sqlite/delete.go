package sqlite

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// deleteBatch is how many instances one transaction of a deletion marks or removes.
const deleteBatch = 100

// Instances that cannot be pruned must not fill the page.
const sqlPrunable = `SELECT i.key FROM perdure_instance i WHERE i.ended_at > 0 AND i.ended_at <= ?1 AND (i.parent_key IS NULL
		OR NOT EXISTS (SELECT 1 FROM perdure_instance p WHERE p.key = i.parent_key AND p.execution <= i.parent_execution))
		AND (?2 IS NULL OR i.kind IN (SELECT k.id FROM perdure_kind k WHERE k.name IN (SELECT value FROM json_each(?2))))
		AND (?3 IS NULL OR i.status IN (SELECT value FROM json_each(?3)))
		AND (i.deleting OR NOT EXISTS (WITH RECURSIVE tree (key) AS (SELECT i.key UNION SELECT c.key FROM perdure_instance c JOIN tree
		ON c.parent_key = tree.key) SELECT 1 FROM tree JOIN perdure_instance r ON r.key = tree.key WHERE r.status < 3))
		ORDER BY i.ended_at LIMIT ?4`

// A cleaner removes instances that ended long ago.
type cleaner struct {
	*handle

	queries shared
}

// Prune implements [provider.Cleaner].
func (cl *cleaner) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	if err := req.Validate(); err != nil {
		return provider.PruneResult{}, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxBatch
	}
	if cl.readOnly {
		return provider.PruneResult{}, refused("prune")
	}
	keys, err := cl.prunable(ctx, &req)
	if err != nil {
		return provider.PruneResult{}, err
	}
	return relational.RemoveEnded(ctx, cl.queries, keys)
}

// prunable returns which trees may go. It may look at many rows, so that no writer waits for it.
func (cl *cleaner) prunable(ctx context.Context, req *provider.PruneRequest) (keys []provider.UUID, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = cl.read(ctx, "prune", func(c *conn) error {
		before := cl.store.clock.wall() - provider.Time(req.Age.Microseconds())
		keys = nil
		return c.each(ctx, sqlPrunable, func(r *row) error {
			keys = append(keys, r.uuid(0))
			return nil
		}, before, listed(req.Names), listed(req.Statuses), req.Max)
	})
	return keys, err
}

// listed returns a list as an argument for json_each, null for an empty one.
func listed[T string | provider.Status](list []T) any {
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
