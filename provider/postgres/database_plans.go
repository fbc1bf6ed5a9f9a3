package postgres

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// primed is how many connections are made when a store is opened: one for each committer, and for who fetches and reads.
const primed = committers + 2

// What the way of an orchestration is made of. All of it does nothing for no rows. Changes of many rows are planned when they come.
//
//nolint:gochecknoglobals // constant
var (
	hotInserts = []string{sqlHistory, sqlHandOffs, sqlBegunInstances, sqlInstances, sqlTasks, sqlMessages, sqlResults}
	hotChanges = []string{sqlWarmSteps, sqlWarmHeads, sqlWarmTasks, sqlEat, sqlNoTimers, sqlNoTasks, sqlHeads}
	hotReads   = []string{sqlClaimTurns, sqlTurnMessages, sqlTurnAttributes, sqlNextTurn, sqlLockIDs + sqlSkip + sqlLocked, sqlLook}
)

// A primer has connections know the statements of a store.
type primer struct {
	db    *database
	kinds *kinds
	clock *clock
}

// connector opens connections that know their statements, once their store is open.
type connector struct {
	store  atomic.Pointer[primer]
	pooled atomic.Bool // a connection has led to a pooler, whose connections keep nothing of us
}

func (c *connector) afterConnect(ctx context.Context, conn *pgx.Conn) error {
	var direct bool
	if err := conn.QueryRow(ctx, sqlSettle, pgx.QueryExecModeExec, int64(conn.PgConn().PID())).Scan(&direct, nil); err != nil {
		return err
	}
	if !direct {
		c.pooled.Store(true)
	}
	if p := c.store.Load(); p != nil {
		p.kinds.stale.Store(true)
		if c.pooled.Load() {
			return nil
		}
		if err := p.prime(ctx, conn); conn.IsClosed() {
			return err
		}
	}
	return nil
}

// opened makes connections in advance: else a server process would be started, and all that it runs be planned, while somebody waits for a commit.
// Where that is not possible, as in a database that is only read, they are made later.
func (c *connector) opened(ctx context.Context, p *primer) {
	ctx, cancel := p.db.bounded(ctx)
	defer cancel()
	c.store.Store(p)
	if c.pooled.Load() {
		return
	}
	conns := make([]*pgxpool.Conn, min(primed, int(p.db.pool.Config().MaxConns)))
	var made sync.WaitGroup
	for i := range conns {
		made.Go(func() {
			conn, err := p.db.pool.Acquire(ctx)
			if err == nil {
				_ = p.prime(ctx, conn.Conn()) // it may have been made before the tables
				conns[i] = conn
			}
		})
	}
	made.Wait() // nobody is given the connection of another one
	for _, conn := range conns {
		if conn != nil {
			conn.Release()
		}
	}
}

// prime has a connection prepare and plan the statements of a lone step and of groups, by running them for no rows.
func (p *primer) prime(ctx context.Context, conn *pgx.Conn) error {
	b := &pgx.Batch{}
	b.Queue(sqlByIndex)
	queue := func(statement string) {
		var none []any
		for _, found := range parameter.FindAllStringSubmatch(statement, -1) {
			n, _ := strconv.Atoi(found[1]) // it is a number
			for len(none) < n {
				none = append(none, nil)
			}
			if found[2] != "" {
				none[n-1] = emptyOf[found[2]]
			}
		}
		b.Queue(statement, none...)
	}
	for _, write := range slices.Concat(hotInserts, hotChanges) {
		queue(p.db.names.lone(write))
	}
	for _, statement := range slices.Concat(hotInserts, hotReads) {
		queue(p.db.names.sql(statement))
	}
	if err := p.db.exchange(ctx, conn, b); err != nil || !p.db.fuses {
		return err
	}
	steps := make([]string, len(hotSteps))
	for i, set := range hotSteps {
		steps[i] = p.db.names.fused(set)
	}
	out := outgoingOn(conn)
	if err := out.prepare(ctx, steps...); err != nil {
		return err
	}
	t := &txn{db: p.db, clock: p.clock, ctx: ctx, conn: conn}
	for _, sql := range steps {
		if _, err := t.commitFused(loneStep{sql, make([]any, len(out.known[sql].ParamOIDs))}); err != nil {
			return err
		}
	}
	return nil
}

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
