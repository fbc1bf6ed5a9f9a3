package postgres

import (
	"context"
	"regexp"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// primed is how many connections are made when a store is opened: one for each committer, and one for who fetches or reads.
const primed = committers + 1

// What the way of an orchestration is made of. All of it does nothing for no rows.
var (
	hotWrites = []string{ //nolint:gochecknoglobals // constant
		sqlWarmSteps, sqlWarmHeads, sqlWarmTasks, sqlHistory, sqlHandOffs, sqlBegunInstances, sqlInstances, sqlTasks, sqlMessages, sqlEat,
		sqlNoTimers, sqlNoTasks, sqlResults, sqlHeads,
	}
	hotReads = []string{sqlClaimTurns, sqlTurnMessages, sqlTurnAttributes, sqlNextTurn, sqlNews, sqlLockIDs + sqlSkip + sqlLocked} //nolint:gochecknoglobals // constant
)

// connector opens connections that know their statements, once their store is open.
type connector struct{ store atomic.Pointer[Provider] }

func (c *connector) afterConnect(ctx context.Context, conn *pgx.Conn) error {
	if p := c.store.Load(); p != nil {
		return p.prime(ctx, conn)
	}
	return nil
}

// opened makes connections in advance: else a server process would be started, and all that it runs be planned, while somebody waits for a commit.
func (c *connector) opened(ctx context.Context, p *Provider) error {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	c.store.Store(p)
	var conns []*pgxpool.Conn
	defer func() {
		for _, conn := range conns {
			conn.Release()
		}
	}()
	for range min(primed, int(p.pool.Config().MaxConns)) {
		conn, err := p.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		conns = append(conns, conn)
		if err := p.prime(ctx, conn.Conn()); err != nil { // the first ones were made before the tables
			return err
		}
	}
	return nil
}

// parameter is one of a statement, an array or not.
var parameter = regexp.MustCompile(`\$(\d+)(::\w+\[\])?`)

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
				none[n-1] = "{}"
			}
		}
		b.Queue(statement, none...)
	}
	for _, write := range hotWrites {
		queue(p.names.sql(write))
		queue(p.names.lone(write))
	}
	for _, read := range hotReads {
		queue(p.names.sql(read))
	}
	return conn.SendBatch(ctx, b).Close()
}
