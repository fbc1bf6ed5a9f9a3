package postgres

import (
	"context"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Trees that cannot be pruned must not crowd out those that can.
const sqlPrunable = `SELECT i.key FROM perdure.instance i WHERE i.ended_at > 0 AND i.ended_at <= ` + sqlNow + ` - $1 AND (i.parent_key IS NULL
	OR NOT EXISTS (SELECT 1 FROM perdure.instance p WHERE p.key = i.parent_key AND p.execution <= i.parent_execution))
	AND (cardinality($3::text[]) = 0 OR i.kind IN (SELECT k.id FROM perdure.kind k WHERE k.name = ANY($3)))
	AND (cardinality($4::smallint[]) = 0 OR i.status = ANY($4))
	AND (i.deleting OR NOT EXISTS (WITH RECURSIVE tree (key) AS (SELECT i.key UNION SELECT c.key FROM perdure.instance c JOIN tree
	ON c.parent_key = tree.key) SELECT 1 FROM tree JOIN perdure.instance r ON r.key = tree.key WHERE r.status < 3))
	ORDER BY i.ended_at LIMIT $2`

// deleter removes instances that ended long ago.
type deleter struct {
	group   *group
	queries shared
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
	keys, err := write(ctx, d.group, "prune", 0, relational.Needs{}, func(t *relational.Tx, keys *[]provider.UUID) (err error) {
		*keys, err = unitOf(t).keys(sqlPrunable, req.Age.Microseconds(), req.Max, append([]string{}, req.Names...), statuses)
		return err
	})
	if err != nil {
		return res, err
	}
	return relational.RemoveEnded(ctx, d.queries, keys)
}
