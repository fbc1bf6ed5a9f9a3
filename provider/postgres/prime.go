package postgres

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// primed is how many connections are made when a store is opened: one for each committer, and for who fetches and reads.
const primed = committers + 2

// What the way of an orchestration is made of. All of it does nothing for no rows.
var (
	hotWrites = []string{ //nolint:gochecknoglobals // constant
		sqlWarmSteps, sqlWarmHeads, sqlWarmTasks, sqlHistory, sqlHandOffs, sqlBegunInstances, sqlInstances, sqlTasks, sqlMessages, sqlEat,
		sqlNoTimers, sqlNoTasks, sqlResults, sqlHeads,
	}
	hotReads = []string{ //nolint:gochecknoglobals // constant
		sqlClaimTurns, sqlTurnMessages, sqlTurnAttributes, sqlNextTurn, sqlNews, sqlLock + sqlSkip + sqlLocked, sqlLockIDs + sqlSkip + sqlLocked,
		sqlLockTasks + sqlSkip + sqlTasksLocked, sqlLook,
	}
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
	errs := make([]error, min(primed, int(p.pool.Config().MaxConns)))
	conns := make([]*pgxpool.Conn, len(errs))
	var made sync.WaitGroup
	for i := range conns {
		made.Go(func() {
			if conns[i], errs[i] = p.pool.Acquire(ctx); errs[i] == nil {
				errs[i] = p.prime(ctx, conns[i].Conn()) // it may have been made before the tables
			}
		})
	}
	made.Wait() // nobody is given the connection of another one
	for _, conn := range conns {
		if conn != nil {
			conn.Release()
		}
	}
	return errors.Join(errs...)
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
