package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

// Plans of the statements that calls are made of.
//
// A plan that was kept while a table was small, or before it was ever analysed, reads it from end to end; and it is kept
// while the table grows. So each transaction, before its statements are planned, takes the choice away: every one of them finds its
// rows by an index, whatever the statistics say. Joins leave no other way either: `t.key = ANY(ARRAY[w.key])` can be neither
// hashed nor merged, and what stands in a LATERAL with OFFSET 0 or FOR UPDATE is looked up for one row after the other. Only the first column of
// an index is compared so, the others plainly: of conditions in this form on later columns the planner may make no use of the index, and does not
// as long as the table is empty. Then it would read all of an instance's tasks for each one.
//
// With that there is one plan for each statement, so that it is made once on each connection, which takes longer than a lone step may.
//
// The settings end with the transaction, so that nobody else who uses the connection, or a pooler behind it, has them.
const sqlByIndex = `SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`

// Connections of a store's own pool have the settings anyway, for lone steps. What callers' functions run in them has not.
//
// A pooler lends the server's connections to other programs, too, which would be given the settings. It gives its clients process IDs of its own.
const (
	sqlSettle = `SELECT pg_backend_pid() = $1::bigint, CASE WHEN pg_backend_pid() = $1::bigint THEN set_config('enable_seqscan', 'off', false)
	|| set_config('jit', 'off', false) || set_config('plan_cache_mode', 'force_generic_plan', false) END`
	sqlUnsettle = `SET LOCAL enable_seqscan TO DEFAULT; SET LOCAL jit TO DEFAULT; SET LOCAL plan_cache_mode TO DEFAULT`
)

// byIndex begins a batch that is a transaction of its own, on a connection of the pool.
func (p *Provider) byIndex() *pgx.Batch {
	b := &pgx.Batch{}
	if !p.settled {
		b.Queue(sqlByIndex)
	}
	return b
}

// nextDue asks by one statement for the clock and for when something is due, in the same round trip as the settings.
func (p *Provider) nextDue(ctx context.Context, sql string, args ...any) (now provider.Time, next *provider.Time, err error) {
	b := p.byIndex()
	b.Queue(p.names.sql(sql), args...).QueryRow(func(r pgx.Row) error { return r.Scan(&now, &next) })
	return now, next, p.pooled(ctx, b)
}

// planSettings are the caller's own, for a transaction that is not ended here.
type planSettings struct{ seqScan, jit, cache string }

// queueJoin takes the settings in a caller's transaction.
func (u *unit) queueJoin(b *pgx.Batch) {
	was := &u.before
	b.Queue(`SELECT current_setting('enable_seqscan'), current_setting('jit'), current_setting('plan_cache_mode')`).
		QueryRow(func(r pgx.Row) error { return r.Scan(&was.seqScan, &was.jit, &was.cache) })
	b.Queue(sqlByIndex + `, ` + sqlNow).QueryRow(func(r pgx.Row) error { return r.Scan(nil, nil, nil, &u.now) })
}

// queueLeave gives the caller's transaction its settings back. After an error the savepoint does.
func (u *unit) queueLeave(b *pgx.Batch) {
	b.Queue(`SELECT set_config('enable_seqscan', $1, true), set_config('jit', $2, true), set_config('plan_cache_mode', $3, true)`,
		u.before.seqScan, u.before.jit, u.before.cache)
}
