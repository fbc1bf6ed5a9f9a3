package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/microsoft/durabletask-go/api"
	"github.com/microsoft/durabletask-go/backend"
	"github.com/microsoft/durabletask-go/backend/postgres"
	"github.com/microsoft/durabletask-go/backend/sqlite"
	"github.com/microsoft/durabletask-go/task"
)

func durableTaskProduct() product {
	return product{
		name: "durabletask-go", module: "github.com/microsoft/durabletask-go", open: openDurableTask,
		notes: map[string]string{
			kindSQLite: fmt.Sprintf("WAL through the file name (default: rollback journal, which is slower), synchronous=FULL is its default; one connection, which it fixes; "+
				"parallelism %d for orchestrations and activities (default 1)", durableTaskParallelism),
			kindPostgres: fmt.Sprintf("up to %d connections (default 1); parallelism %d for orchestrations and activities (default 1). "+
				"v0.6.0 cannot store two activities of one turn (microsoft/durabletask-go#94, mended after the release), so W2a and W2b fail",
				connections, durableTaskParallelism),
		},
	}
}

const durableTaskParallelism = 200

type durableTaskSystem struct {
	client backend.TaskHubClient
	file   string // SQLite only
}

func openDurableTask(ctx context.Context, s store) (system, error) {
	d := &durableTaskSystem{}
	var be backend.Backend
	switch s.Kind {
	case kindSQLite:
		d.file = s.Address
		be = sqlite.NewSqliteBackend(sqlite.NewSqliteOptions(sqliteName(s.Address)), durableTaskLogger{logger()})
	default:
		config, err := pgxpool.ParseConfig(s.Address)
		if err != nil {
			return nil, err
		}
		config.MaxConns = connections
		be = postgres.NewPostgresBackend(&postgres.PostgresOptions{
			PgOptions: config, OrchestrationLockTimeout: 2 * time.Minute, ActivityLockTimeout: 2 * time.Minute, // the defaults
		}, durableTaskLogger{logger()})
	}
	reg := task.NewTaskRegistry()
	for p, fn := range durableTaskPrograms() {
		if err := reg.AddOrchestratorN(durableTaskName(p), fn); err != nil {
			return nil, err
		}
	}
	if err := reg.AddActivity(durableTaskNoop); err != nil {
		return nil, err
	}
	executor, log := task.NewTaskExecutor(reg), durableTaskLogger{logger()}
	parallel := backend.WithMaxParallelism(durableTaskParallelism)
	worker := backend.NewTaskHubWorker(be, backend.NewOrchestrationWorker(be, executor, log, parallel),
		backend.NewActivityTaskWorker(be, executor, log, parallel), log)
	d.client = backend.NewTaskHubClient(be)
	return d, worker.Start(ctx)
}

// Settings reads from a second handle with the same file name, since the first one belongs to the system.
func (d *durableTaskSystem) Settings(ctx context.Context) []string {
	parallelism := fmt.Sprintf("parallelism=%d", durableTaskParallelism)
	if d.file == "" {
		return []string{fmt.Sprintf("connections=%d", connections), parallelism}
	}
	db, err := openSQLite(d.file, 1)
	if err != nil {
		return []string{err.Error()}
	}
	defer db.Close()
	return append(sqliteSettings(ctx, db), "connections=1", parallelism)
}

func (d *durableTaskSystem) Start(ctx context.Context, what program, n int) (instance, error) {
	id, err := d.client.ScheduleNewOrchestration(ctx, durableTaskName(what), api.WithInput(n))
	return durableTaskInstance{d.client, id, n}, err
}

type durableTaskInstance struct {
	client backend.TaskHubClient
	id     api.InstanceID
	want   int
}

func (i durableTaskInstance) Wait(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		m, err := i.client.FetchOrchestrationMetadata(ctx, i.id)
		if err != nil || !m.IsComplete() {
			return false, err
		}
		return true, i.check(m)
	})
}

func (i durableTaskInstance) WaitAsDocumented(ctx context.Context) error {
	m, err := i.client.WaitForOrchestrationCompletion(ctx, i.id)
	if err != nil {
		return err
	}
	return i.check(m)
}

func (i durableTaskInstance) check(m *api.OrchestrationMetadata) error {
	switch {
	case m.RuntimeStatus != api.RUNTIME_STATUS_COMPLETED:
		return fmt.Errorf("an orchestration ended as %v: %v", m.RuntimeStatus, m.FailureDetails)
	case m.SerializedOutput != fmt.Sprint(i.want):
		return fmt.Errorf("an orchestration returned %s, want %d", m.SerializedOutput, i.want)
	}
	return nil
}

func (i durableTaskInstance) Send(ctx context.Context, event Reply) error {
	return i.client.RaiseEvent(ctx, i.id, eventName, api.WithEventPayload(event))
}

func durableTaskName(p program) string { return fmt.Sprintf("program-%d", p) }

func durableTaskPrograms() map[program]task.Orchestrator {
	return map[program]task.Orchestrator{
		chain: durableTaskChain, fan: durableTaskFan, sleep: durableTaskSleep, listen: durableTaskListen,
	}
}

func durableTaskNoop(ctx task.ActivityContext) (any, error) {
	var n int
	if err := ctx.GetInput(&n); err != nil {
		return nil, err
	}
	return reply(), nil
}

func durableTaskChain(ctx *task.OrchestrationContext) (any, error) {
	var n int
	if err := ctx.GetInput(&n); err != nil {
		return nil, err
	}
	for i := range n {
		var r Reply
		if err := ctx.CallActivity(durableTaskNoop, task.WithActivityInput(i)).Await(&r); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func durableTaskFan(ctx *task.OrchestrationContext) (any, error) {
	var n int
	if err := ctx.GetInput(&n); err != nil {
		return nil, err
	}
	tasks := make([]task.Task, n)
	for i := range tasks {
		tasks[i] = ctx.CallActivity(durableTaskNoop, task.WithActivityInput(i))
	}
	for _, t := range tasks {
		var r Reply
		if err := t.Await(&r); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func durableTaskSleep(ctx *task.OrchestrationContext) (any, error) {
	var n int
	if err := ctx.GetInput(&n); err != nil {
		return nil, err
	}
	pause := time.Duration(n) * time.Millisecond
	due := ctx.CurrentTimeUtc.Add(pause)
	if err := ctx.CreateTimer(pause).Await(nil); err != nil {
		return nil, err
	}
	if !ctx.IsReplaying {
		wakes.add(due)
	}
	return n, nil
}

func durableTaskListen(ctx *task.OrchestrationContext) (any, error) {
	var n int
	if err := ctx.GetInput(&n); err != nil {
		return nil, err
	}
	for range n {
		var r Reply
		if err := ctx.WaitForSingleEvent(eventName, -1).Await(&r); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// durableTaskLogger forwards errors and warnings of durabletask-go.
type durableTaskLogger struct{ to *slog.Logger }

func (durableTaskLogger) Debug(...any)                {}
func (durableTaskLogger) Debugf(string, ...any)       {}
func (durableTaskLogger) Info(...any)                 {}
func (durableTaskLogger) Infof(string, ...any)        {}
func (l durableTaskLogger) Warn(v ...any)             { l.to.Warn(fmt.Sprint(v...)) }
func (l durableTaskLogger) Error(v ...any)            { l.to.Error(fmt.Sprint(v...)) }
func (l durableTaskLogger) Warnf(f string, v ...any)  { l.to.Warn(fmt.Sprintf(f, v...)) }
func (l durableTaskLogger) Errorf(f string, v ...any) { l.to.Error(fmt.Sprintf(f, v...)) }
