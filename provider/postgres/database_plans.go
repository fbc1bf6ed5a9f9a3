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

// primed is how many connections are made when a store opens: one for each committer, one for a fetch and one for
// reads.
const primed = committers + 2

// The statements of a typical orchestration. All of them do nothing for no rows. Statements that change many rows are
// planned on first use.
//
//nolint:gochecknoglobals // constant
var (
	hotInserts = []string{sqlHistory, sqlHandOffs, sqlBegunInstances, sqlInstances, sqlTasks, sqlMessages, sqlResults}
	hotChanges = []string{sqlCachedPlainTurns, sqlCachedHeads, sqlCachedTasks, sqlDeleteConsumed, sqlNoTimers, sqlNoTasks, sqlHeads}
	hotReads   = []string{sqlClaimTurns, sqlTurnMessages, sqlTurnAttributes, sqlNextTurn, sqlLockIDs + sqlSkip + sqlLocked, sqlInboxMessages}
)

// primer makes connections prepare the statements of a store.
type primer struct {
	db    *database
	kinds *kinds
	clock *clock
}

// connector opens connections that have prepared their statements, once their store is open.
type connector struct {
	store  atomic.Pointer[primer]
	pooled atomic.Bool // a connection led to a pooler, whose server connections keep nothing of ours
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

// opened makes connections in advance. Otherwise a commit would wait for a server process to start and plan all
// statements. If that is impossible, as in a read-only database, they are made later.
func (c *connector) opened(ctx context.Context, p *primer) {
	ctx, cancel := p.db.bounded(ctx)
	defer cancel()
	c.store.Store(p)
	if c.pooled.Load() {
		return
	}
	conns := make([]*pgxpool.Conn, min(primed, int(p.db.pool.Config().MaxConns)))
	var connected sync.WaitGroup
	for i := range conns {
		connected.Go(func() {
			conn, err := p.db.pool.Acquire(ctx)
			if err == nil {
				_ = p.prime(ctx, conn.Conn()) // it may have been made before the tables
				conns[i] = conn
			}
		})
	}
	connected.Wait() // no worker gets the connection of another one
	for _, conn := range conns {
		if conn != nil {
			conn.Release()
		}
	}
}

// prime makes a connection prepare and plan the statements of a single step and of groups, by running them for no rows.
// Without this, 5,000 orchestrations of W1 take 11 % more CPU.
func (p *primer) prime(ctx context.Context, conn *pgx.Conn) error {
	b := &pgx.Batch{}
	b.Queue(sqlByIndex)
	queue := func(statement string) {
		var none []any
		for _, found := range parameter.FindAllStringSubmatch(statement, -1) {
			n, _ := strconv.Atoi(found[1]) // it matched digits
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
		queue(p.db.names.forOneRow(write))
	}
	for _, statement := range slices.Concat(hotInserts, hotReads) {
		queue(p.db.names.sql(statement))
	}
	if err := p.db.exchange(ctx, conn, b); err != nil || !p.db.wireProtocol {
		return err
	}
	steps := make([]string, len(hotSteps))
	for i, set := range hotSteps {
		steps[i] = p.db.names.stepSQL(set)
	}
	out := outgoingOn(conn)
	if err := out.prepare(ctx, steps...); err != nil {
		return err
	}
	t := &txn{db: p.db, clock: p.clock, ctx: ctx, conn: conn}
	for _, sql := range steps {
		if _, err := t.commitStep(boundStatement{sql, make([]any, len(out.prepared[sql].ParamOIDs))}); err != nil {
			return err
		}
	}
	return nil
}

// Plans of the statements that calls are made of.
//
// A plan made while a table was small, or before its first ANALYZE, scans the whole table, and stays as the table
// grows. So each transaction takes the choice away before its statements are planned: every statement finds its rows by
// an index, whatever the statistics say. Joins leave no other way either: `t.key = ANY(ARRAY[w.key])` can be neither
// hashed nor merged. A LATERAL with OFFSET 0 or FOR UPDATE is looked up row by row. Only the first column of an index
// is compared like that, the others plainly. For conditions of this form on later columns the planner may ignore the
// index, and does so while the table is empty. Then it would read all of an instance's tasks for each one.
//
// So there is one plan for each statement. It is made once on each connection, because planning takes longer than a
// single step may.
//
// The settings end with the transaction, so that no other user of the connection, or of a pooler behind it, has them.
const sqlByIndex = `SELECT set_config('enable_seqscan', 'off', true) || set_config('row_security', 'off', true), set_config('jit', 'off', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`

// sqlByIndexJoined is sqlByIndex for a transaction of the caller, whose own statements may rely on row level security.
const sqlByIndexJoined = `SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),
	set_config('plan_cache_mode', 'force_generic_plan', true)`

// Connections of a store's own pool have the settings permanently, for single steps. Functions of callers run without
// them.
//
// A pooler lends its server connections to other programs, which would get the settings, too. It gives its clients
// process IDs of its own.
const (
	sqlSettle = `SELECT pg_backend_pid() = $1::bigint, CASE WHEN pg_backend_pid() = $1::bigint THEN set_config('enable_seqscan', 'off', false)
	|| set_config('jit', 'off', false) || set_config('plan_cache_mode', 'force_generic_plan', false) || set_config('row_security', 'off', false) END`
	sqlUnsettle = `SET LOCAL enable_seqscan TO DEFAULT; SET LOCAL jit TO DEFAULT; SET LOCAL plan_cache_mode TO DEFAULT; SET LOCAL row_security TO DEFAULT`
)
