package heartbeats

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx   = orchestration.Context
	engine = enginetest.Engine
)

var errDeclined = errors.New("declined")

// each runs a test on memory in virtual time, on SQLite and on Postgres.
func each(t *testing.T, opts runtime.Options, test func(e *engine)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		enginetest.Bubble(t, opts, test)
	})
	if testing.Short() { // only in virtual time
		return
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(enginetest.SQLite(t, opts))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.URL(t)
		store, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		test(enginetest.On(t, store, opts))
	})
}

// registry makes a registry with the activity "work" and "main", which calls it once.
func registry(
	e *engine, work func(context.Context, int) (int, error), on []runtime.RegisterOption, opts ...orchestration.ActivityOption,
) *runtime.Registry {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Activity(e.T, reg, "work", work, on...)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "work", n, opts...)
	})
	if err := runtime.AddError(reg, "declined", errDeclined); err != nil {
		e.T.Fatal(err)
	}
	return reg
}

// caller returns a client without a node, as another process would use it.
func caller(e *engine, reg *runtime.Registry) *client.Client {
	return e.Client(client.Options{Errors: reg.Errors()})
}

// pending returns the only pending activity of an instance.
func pending(e *engine, c *client.Client, id string) client.Activity {
	e.T.Helper()
	d, err := c.Describe(e.T.Context(), id)
	if err != nil || len(d.Activities) != 1 {
		e.T.Fatalf("%s: %+v, %v", id, d.Activities, err)
	}
	return d.Activities[0]
}

// await waits for d unless ctx ends first, as an activity that obeys does.
func await(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renewal is a renewed lease with its details.
type renewal struct {
	at      time.Time
	details string
}

// renewals records the renewals of a node.
type renewals struct {
	*provider.Full

	mu  sync.Mutex
	all []renewal
}

// Unwrap makes the optional features of the store reachable.
func (r *renewals) Unwrap() provider.Provider { return r.Provider }

// RenewTasks implements provider.Provider.
func (r *renewals) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	r.mu.Lock()
	for _, item := range req.Items {
		r.all = append(r.all, renewal{time.Now(), string(item.Details)})
	}
	r.mu.Unlock()
	return r.Provider.RenewTasks(ctx, req)
}

func (r *renewals) list() []renewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]renewal(nil), r.all...)
}

// withDetails returns the renewals that carried details.
func (r *renewals) withDetails() (list []renewal) {
	for _, one := range r.list() {
		if one.details != "" {
			list = append(list, one)
		}
	}
	return list
}

// outage is a store that fails all renewals for some time of a test.
type outage struct {
	*provider.Full

	begun      time.Time
	from, till time.Duration
}

// away returns a store that fails all renewals between two moments from now.
func away(store provider.Provider, from, till time.Duration) *outage {
	return &outage{provider.FullOf(store), time.Now(), from, till}
}

// Unwrap makes the optional features of the store reachable.
func (o *outage) Unwrap() provider.Provider { return o.Provider }

// RenewTasks implements provider.Provider.
func (o *outage) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	if at := time.Since(o.begun); at >= o.from && at < o.till {
		return provider.RenewTasksResult{}, &provider.Error{Outcome: provider.OutcomeNothing, Retryable: true, Err: errors.New("away")}
	}
	return o.Provider.RenewTasks(ctx, req)
}
