package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // its SQLite support
	"github.com/jackc/pgx/v5/pgxpool"
)

func dbosProduct() product {
	return product{
		name: "dbos", module: "github.com/dbos-inc/dbos-transact-golang", open: openDBOS,
		notes: map[string]string{
			kindSQLite: "its default is weaker: synchronous=NORMAL, where a power failure may lose the last commits; here FULL, through Config.SQLiteSystemDB; " +
				"one connection, which is faster than its default of 8; WAL as by default; workflows are started in the process, without a queue",
			kindPostgres: fmt.Sprintf("%d connections (default 20); workflows are started in the process, without a queue", connections),
		},
	}
}

type dbosSystem struct {
	ctx  dbos.Context
	db   *sql.DB
	pool *pgxpool.Pool
}

func openDBOS(ctx context.Context, s store) (system, error) {
	d := &dbosSystem{}
	config := dbos.Config{AppName: "compare", Logger: logger()}
	switch s.Kind {
	case kindSQLite:
		db, err := openSQLite(s.Address, 1)
		if err != nil {
			return nil, err
		}
		d.db, config.SQLiteSystemDB = db, db
	default:
		pc, err := pgxpool.ParseConfig(s.Address)
		if err != nil {
			return nil, err
		}
		pc.MaxConns = connections
		pool, err := pgxpool.NewWithConfig(ctx, pc)
		if err != nil {
			return nil, err
		}
		d.pool, config.SystemDBPool = pool, pool
	}
	var err error
	if d.ctx, err = dbos.NewContext(ctx, config); err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(d.ctx, dbosChain)
	dbos.RegisterWorkflow(d.ctx, dbosFan)
	dbos.RegisterWorkflow(d.ctx, dbosSleep)
	dbos.RegisterWorkflow(d.ctx, dbosListen)
	return d, dbos.Launch(d.ctx)
}

func (d *dbosSystem) Settings(ctx context.Context) []string {
	if d.pool != nil {
		return []string{fmt.Sprintf("connections=%d", d.pool.Config().MaxConns)}
	}
	return append(sqliteSettings(ctx, d.db), "connections=1")
}

func (d *dbosSystem) Start(_ context.Context, what program, n int) (instance, error) {
	fn := map[program]dbos.Workflow[int, int]{chain: dbosChain, fan: dbosFan, sleep: dbosSleep, listen: dbosListen}[what]
	h, err := dbos.RunWorkflow(d.ctx, fn, n)
	return dbosInstance{d.ctx, h, n}, err
}

type dbosInstance struct {
	ctx    dbos.Context
	handle dbos.WorkflowHandle[int]
	want   int
}

func (i dbosInstance) Wait(context.Context) error {
	got, err := i.handle.GetResult()
	if err != nil {
		return err
	}
	return expect(got, i.want)
}

func (i dbosInstance) WaitAsDocumented(ctx context.Context) error { return i.Wait(ctx) }

func (i dbosInstance) Send(_ context.Context, event Reply) error {
	return dbos.Send(i.ctx, i.handle.GetWorkflowID(), event, eventName)
}

func dbosNoop(context.Context) (Reply, error) { return reply(), nil }

func dbosChain(ctx dbos.Context, n int) (int, error) {
	for range n {
		if _, err := dbos.RunAsStep(ctx, dbosNoop); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func dbosFan(ctx dbos.Context, n int) (int, error) {
	outcomes := make([]<-chan dbos.StepOutcome[Reply], n)
	for i := range outcomes {
		var err error
		if outcomes[i], err = dbos.Go(ctx, dbosNoop); err != nil {
			return 0, err
		}
	}
	for _, c := range outcomes {
		if o := <-c; o.Err != nil {
			return 0, o.Err
		}
	}
	return n, nil
}

func dbosSleep(ctx dbos.Context, n int) (int, error) {
	pause := time.Duration(n) * time.Millisecond
	due := time.Now().Add(pause) // as Sleep itself computes it
	if _, err := dbos.Sleep(ctx, pause); err != nil {
		return 0, err
	}
	wakes.add(due)
	return n, nil
}

func dbosListen(ctx dbos.Context, n int) (int, error) {
	for range n {
		if _, err := dbos.Recv[Reply](ctx, eventName, time.Hour); err != nil {
			return 0, err
		}
	}
	return n, nil
}
