package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/postgres"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/core"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/google/uuid"
)

func goWorkflowsProduct() product {
	return product{
		name: "go-workflows", module: "github.com/cschleiden/go-workflows", open: openGoWorkflows,
		notes: map[string]string{
			kindSQLite: "monoprocess backend, which wakes the worker instead of polling; one connection and WAL as in its documentation, " +
				"synchronous=FULL is its default; executor cache 10,000 (default 128), history size unlimited (default 10,000 events)",
			kindPostgres: fmt.Sprintf("monoprocess backend; up to %d connections; %d pollers of each kind (default 2); executor cache 10,000 (default 128), "+
				"history size unlimited (default 10,000 events)", connections, goWorkflowsPollers),
		},
	}
}

// goWorkflowsPollers is the number of concurrent fetches from Postgres. With the one connection of SQLite, pollers
// gain nothing.
const goWorkflowsPollers = 8

type goWorkflowsSystem struct {
	backend backend.Backend
	db      *sql.DB
	client  *client.Client
	pollers int
}

func openGoWorkflows(ctx context.Context, s store) (system, error) {
	g := &goWorkflowsSystem{}
	opts := []backend.BackendOption{backend.WithLogger(logger()), backend.WithMaxHistorySize(1 << 40)}
	var err error
	switch s.Kind {
	case kindSQLite:
		if g.db, err = openSQLite(s.Address, 1); err != nil {
			return nil, err
		}
		g.backend = sqlite.NewSqliteBackendWithDB(g.db, sqlite.WithApplyMigrations(true), sqlite.WithBackendOptions(opts...))
		g.pollers = worker.DefaultOptions.WorkflowPollers
	default:
		if g.db, err = sql.Open("pgx", s.Address); err != nil {
			return nil, err
		}
		g.db.SetMaxOpenConns(connections)
		g.db.SetMaxIdleConns(connections)
		g.backend = postgres.NewPostgresBackendWithDB(g.db, postgres.WithApplyMigrations(true), postgres.WithBackendOptions(opts...))
		g.pollers = goWorkflowsPollers
	}
	g.backend = monoprocess.NewMonoprocessBackend(g.backend)
	o := worker.DefaultOptions
	o.WorkflowPollers, o.ActivityPollers = g.pollers, g.pollers
	o.WorkflowExecutorCacheSize = 10_000
	w := worker.New(g.backend, &o)
	err = errors.Join(
		w.RegisterWorkflow(goWorkflowsChain), w.RegisterWorkflow(goWorkflowsFan),
		w.RegisterWorkflow(goWorkflowsSleep), w.RegisterWorkflow(goWorkflowsListen),
		w.RegisterActivity(noop),
	)
	if err != nil {
		return nil, err
	}
	g.client = client.New(g.backend)
	return g, w.Start(ctx)
}

func (g *goWorkflowsSystem) Settings(ctx context.Context) []string {
	return append(sqliteSettings(ctx, g.db), "monoprocess backend", fmt.Sprintf("connections=%d", g.db.Stats().MaxOpenConnections),
		fmt.Sprintf("pollers=%d", g.pollers), "executor cache=10000")
}

func (g *goWorkflowsSystem) Start(ctx context.Context, what program, n int) (instance, error) {
	fn := map[program]func(workflow.Context, int) (int, error){
		chain: goWorkflowsChain, fan: goWorkflowsFan, sleep: goWorkflowsSleep, listen: goWorkflowsListen,
	}[what]
	wfi, err := g.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: uuid.NewString()}, fn, n)
	return goWorkflowsInstance{g.client, wfi, n}, err
}

type goWorkflowsInstance struct {
	client *client.Client
	wfi    *workflow.Instance
	want   int
}

func (i goWorkflowsInstance) Wait(ctx context.Context) error {
	err := poll(ctx, func() (bool, error) {
		state, err := i.client.GetWorkflowInstanceState(ctx, i.wfi)
		return state == core.WorkflowInstanceStateFinished, err
	})
	if err != nil {
		return err
	}
	return i.WaitAsDocumented(ctx)
}

func (i goWorkflowsInstance) WaitAsDocumented(ctx context.Context) error {
	got, err := client.GetWorkflowResult[int](ctx, i.client, i.wfi, time.Minute)
	if err != nil {
		return err
	}
	return expect(got, i.want)
}

func (i goWorkflowsInstance) Send(ctx context.Context, event Reply) error {
	return i.client.SignalWorkflow(ctx, i.wfi.InstanceID, eventName, event)
}

func goWorkflowsChain(ctx workflow.Context, n int) (int, error) {
	for i := range n {
		if _, err := workflow.ExecuteActivity[Reply](ctx, workflow.DefaultActivityOptions, noop, i).Get(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func goWorkflowsFan(ctx workflow.Context, n int) (int, error) {
	futures := make([]workflow.Future[Reply], n)
	for i := range futures {
		futures[i] = workflow.ExecuteActivity[Reply](ctx, workflow.DefaultActivityOptions, noop, i)
	}
	for _, f := range futures {
		if _, err := f.Get(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func goWorkflowsSleep(ctx workflow.Context, n int) (int, error) {
	pause := time.Duration(n) * time.Millisecond
	due := workflow.Now(ctx).Add(pause)
	if err := workflow.Sleep(ctx, pause); err != nil {
		return 0, err
	}
	if !workflow.Replaying(ctx) {
		wakes.add(due)
	}
	return n, nil
}

func goWorkflowsListen(ctx workflow.Context, n int) (int, error) {
	events := workflow.NewSignalChannel[Reply](ctx, eventName)
	for range n {
		events.Receive(ctx)
	}
	return n, nil
}
