package postgres

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
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

// connector opens connections that know their statements, once their store is open.
type connector struct {
	store  atomic.Pointer[Provider]
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
func (c *connector) opened(ctx context.Context, p *Provider) {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	c.store.Store(p)
	if c.pooled.Load() {
		return
	}
	conns := make([]*pgxpool.Conn, min(primed, int(p.pool.Config().MaxConns)))
	var made sync.WaitGroup
	for i := range conns {
		made.Go(func() {
			conn, err := p.pool.Acquire(ctx)
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

// parameter is one of a statement, an array or not.
var parameter = regexp.MustCompile(`\$(\d+)(::\w+\[\])?`)

// emptyOf answers the list of no rows for the type of a parameter.
//
//nolint:gochecknoglobals // constant
var emptyOf = map[string]any{
	"::uuid[]": []pgtype.UUID{}, "::bigint[]": []int64{}, "::smallint[]": []int16{}, "::text[]": []string{}, "::boolean[]": []bool{},
	"::bytea[]": [][]byte{}, "::xid[]": []pgtype.Uint32{},
}

// prime has a connection prepare and plan the statements of a lone step and of groups, by running them for no rows.
func (p *Provider) prime(ctx context.Context, conn *pgx.Conn) error {
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
		queue(p.names.lone(write))
	}
	for _, statement := range slices.Concat(hotInserts, hotReads) {
		queue(p.names.sql(statement))
	}
	if err := p.exchange(ctx, conn, b); err != nil || !p.fuses {
		return err
	}
	steps := make([]string, len(hotSteps))
	for i, set := range hotSteps {
		steps[i] = p.names.fused(set)
	}
	out := outgoingOn(conn)
	if err := out.prepare(ctx, steps...); err != nil {
		return err
	}
	u := newUnit(ctx, p, conn)
	for _, sql := range steps {
		if _, err := u.commitFused(loneStep{sql, make([]any, len(out.known[sql].ParamOIDs))}); err != nil {
			return err
		}
	}
	return nil
}
