package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// The statements of lists say themselves how rows are found, and in which order. A planner that estimates would now and then read
	// a whole table or index.
	sqlListing = `begin read only, isolation level repeatable read; SET LOCAL enable_seqscan TO off; SET LOCAL enable_bitmapscan TO off;
	SET LOCAL enable_hashjoin TO off; SET LOCAL enable_mergejoin TO off; SET LOCAL max_parallel_workers_per_gather TO 0; SET LOCAL jit TO off;
	SET LOCAL plan_cache_mode TO force_custom_plan; SET LOCAL row_security TO off`
	// The rows of a page by their keys, until they fill it. Columns that a list leaves out are not read.
	sqlListed = ` FROM (SELECT u.key, u.n, sum($size) OVER (ORDER BY u.n) AS bytes FROM unnest($1::uuid[]) WITH ORDINALITY u (key, n)
		CROSS JOIN LATERAL (SELECT * FROM perdure.instance x WHERE x.key = ANY(ARRAY[u.key]) ORDER BY x.key OFFSET 0) i
		LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[u.key])) p
	CROSS JOIN LATERAL (SELECT * FROM perdure.instance x WHERE x.key = ANY(ARRAY[p.key]) ORDER BY x.key OFFSET 0) i JOIN perdure.kind k ON k.id = i.kind
	LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[i.key]) WHERE p.n = 1 OR p.bytes <= $2 ORDER BY p.n`
)

// list returns what its request asks for.
func (r *reader) list(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	err = r.listing(ctx, "list", func(ctx context.Context, l lookup) error {
		res = provider.ListResult{}
		places, cursor, err := dialect.Find(l, &req)
		if err != nil {
			return err
		}
		if res.Cursor = cursor; len(places) > 0 {
			if err := l.rows(&req, places, &res); err != nil {
				return err
			}
		}
		res.Reached = relational.Reached(res.Cursor)
		return l.tx.QueryRow(ctx, `SELECT `+sqlNow).Scan(&res.Now)
	})
	if err != nil {
		return provider.ListResult{}, err
	}
	return res, nil
}

// count returns what its request asks for.
func (r *reader) count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	read := r.listing
	if req.Max == 0 && !req.Filter.Retrying { // it may read the whole table
		read = func(ctx context.Context, op string, fn func(context.Context, lookup) error) error {
			return r.db.snapshot(ctx, op, func(ctx context.Context, tx pgx.Tx) error { return fn(ctx, lookup{ctx, r.db, tx}) })
		}
	}
	err = read(ctx, "count", func(_ context.Context, l lookup) error {
		res, err = dialect.Count(l, &req)
		return err
	})
	if err != nil {
		return provider.CountResult{}, err
	}
	return res, nil
}

// listing runs fn in a snapshot in which statements are planned for lists.
func (r *reader) listing(ctx context.Context, op string, fn func(context.Context, lookup) error) error {
	return r.db.read(ctx, op, func(ctx context.Context, c *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{BeginQuery: sqlListing}, func(tx pgx.Tx) error { return fn(ctx, lookup{ctx, r.db, tx}) })
	})
}

// lookup implements [relational.Lookup]. Its statements have constants in them, so that none of them is kept.
type lookup struct {
	ctx context.Context //nolint:containedctx // of one call
	db  *database
	tx  pgx.Tx
}

// Numbers implements [relational.Lookup].
func (l lookup) Numbers(sql string, args ...any) ([]int64, error) {
	rows, err := l.query(sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Places implements [relational.Lookup].
func (l lookup) Places(sql string, args ...any) ([]relational.Position, error) {
	rows, err := l.query(sql, args)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p relational.Position, err error) {
		return p, row.Scan(&p.At, into(&p.Key))
	})
}

// Tally implements [relational.Lookup].
func (l lookup) Tally(sql string, args ...any) (scanned, matched int64, err error) {
	rows, err := l.query(sql, args)
	if err != nil {
		return 0, 0, err
	}
	_, err = pgx.ForEachRow(rows, []any{&scanned, &matched}, func() error { return nil })
	return scanned, matched, err
}

func (l lookup) query(sql string, args []any) (pgx.Rows, error) {
	return l.tx.Query(l.ctx, l.db.names.inSchema(sql), append([]any{pgx.QueryExecModeExec}, args...)...)
}

// rows reads the rows of a page until they fill it.
func (l lookup) rows(req *provider.ListRequest, places []relational.Position, res *provider.ListResult) (err error) {
	keys := make([]provider.UUID, len(places))
	for i, p := range places {
		keys[i] = p.Key
	}
	if res.Instances, err = l.db.instances(l.ctx, l.tx, listStatement(req), uuids(keys), int64(provider.MaxFetchBytes)); err != nil {
		return err
	}
	if n := len(res.Instances); n < len(places) {
		res.Cursor = relational.WriteCursor(places[n-1].At, places[n-1].Key)
	}
	for i := range res.Instances {
		req.Trim(&res.Instances[i])
	}
	return nil
}

// listStatement returns the statement for the rows of a page.
func listStatement(req *provider.ListRequest) string {
	columns := strings.Replace(instanceColumns, "o.result", "NULL::bytea", 1)
	size := "0"
	if req.Omits(provider.ListAttributes) {
		columns = strings.Replace(columns, "i.attributes", "false", 1)
	}
	if !req.Omits(provider.ListBlockedMessage) {
		size += " + octet_length(i.blocked_message)"
	}
	if req.Omits(provider.ListCustomStatus) {
		columns = strings.Replace(columns, "o.custom_status", "NULL::bytea", 1)
	} else {
		size += " + coalesce(octet_length(o.custom_status), 0)"
	}
	size += " + CASE WHEN i.status = 4 AND o.failed_at = i.ended_at THEN coalesce(octet_length(o.excerpt), 0) ELSE 0 END"
	return "SELECT " + columns + strings.Replace(sqlListed, "$size", size, 1)
}
