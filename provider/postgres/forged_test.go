package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// renewing counts the renewals of a node.
type renewing struct {
	*provider.Full

	calls atomic.Int64
}

func (r *renewing) Unwrap() provider.Provider { return r.Provider }

func (r *renewing) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	defer r.calls.Add(1)
	return r.Provider.RenewTasks(ctx, req)
}

// outsider returns a function that sends a notice as any role can that may connect to the database.
func outsider(t *testing.T, url, schema string) (forge func(provider.Notice)) {
	t.Helper()
	postgrestest.Exec(t, url, `DROP ROLE IF EXISTS outsider`, `CREATE ROLE outsider`)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	if _, err := conn.Exec(t.Context(), `SET ROLE outsider`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `SELECT count(*) FROM `+pgx.Identifier{schema, "instance"}.Sanitize()); err == nil {
		t.Error("the role may read the tables")
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(schema)) // never fails
	return func(n provider.Notice) {
		t.Helper()
		text, err := json.Marshal(map[string]any{"n": "somebody", "s": []provider.Notice{n}})
		if err == nil {
			_, err = conn.Exec(t.Context(), `SELECT pg_notify($1, $2)`, fmt.Sprintf("perdure_%016x", hash.Sum64()), string(text))
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// Postgres requires no right to send a notification. A role that may only connect must not end an activity. Real
// notices of another process must still be received.
func TestForgedNotificationEndsNothing(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	var stores [2]*Provider
	for i := range stores {
		var err error
		if stores[i], err = OpenWith(t.Context(), url, Options{Schema: schema}); err != nil {
			t.Fatal(err)
		}
	}
	closeAtEnd(t, stores[1])
	e := enginetest.On(t, stores[0], runtime.Options{})
	node := &renewing{Full: e.Store}
	began, finish, ended := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	reg := runtime.NewRegistry()
	enginetest.Activity(t, reg, "charge", func(ctx context.Context, _ int) (int, error) {
		began <- struct{}{}
		select {
		case <-finish:
		case <-ctx.Done():
		}
		ended <- context.Cause(ctx)
		return 1, context.Cause(ctx)
	})
	enginetest.Orchestration(t, reg, "order", func(ctx *orchestration.Context, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "charge", n)
	})
	e.StartOn(node, reg, e.Options)
	listening(t, stores[0])

	key := e.Create("forged", "order", 1)
	<-began
	forge := outsider(t, url, schema)
	forge(provider.Notice{Key: key, Execution: 1, EventID: 2})
	forge(provider.Notice{Key: key, Execution: 1})
	eventually(t, "the activity has ended, or the store was asked", func() bool { return len(ended) > 0 || node.calls.Load() > 0 })
	close(finish)
	if got := enginetest.Output[int](e, key); got != 1 {
		t.Errorf("got %d", got)
	}
	if cause := <-ended; cause != nil {
		t.Errorf("the activity was ended by %v", cause)
	}

	finish = make(chan struct{})
	key = e.Create("terminated", "order", 1)
	<-began
	at := time.Now()
	elsewhere := clienttest.New(t, stores[1], client.Options{})
	if err := client.HandleOf[int](elsewhere, "terminated", key).Terminate(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	if cause := <-ended; !errors.Is(cause, activity.ErrOrchestrationEnded) {
		t.Errorf("ended by %v", cause)
	}
	if took := time.Since(at); took > 5*time.Second { // a renewal comes after ten
		t.Errorf("another process's termination was received after %v", took)
	} else {
		t.Logf("another process's termination was received after %v", took)
	}
}
