package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

// Orchestrations with all kinds of steps run on two nodes, each with a connection pool of its own.
func TestEngineOnPostgres(t *testing.T) {
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	open := func() *postgres.Provider {
		p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	e := enginetest.On(t, open(), runtime.Options{})
	other := open()
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	reg := runtime.NewRegistry()
	enginetest.Activity(t, reg, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	enginetest.Orchestration(t, reg, "child", func(ctx *orchestration.Context, n int) (int, error) {
		return n + 1, ctx.Sleep(time.Millisecond)
	})
	enginetest.Orchestration(t, reg, "main", func(ctx *orchestration.Context, n int) (int, error) {
		for range 5 {
			doubled, err := orchestration.CallActivityNamed[int](ctx, "double", n)
			if err != nil {
				return 0, err
			}
			n = doubled
		}
		more, err := orchestration.Events[int](ctx, "more").Receive(ctx)
		if err != nil {
			return 0, err
		}
		child, err := orchestration.CallOrchestrationNamed[int](ctx, "child", n)
		return child + more, err
	})
	e.Start(reg)
	e.StartOn(other, reg, e.Options)
	var keys []provider.UUID
	for i := range 20 {
		keys = append(keys, e.Create(enginetest.NewID().String(), "main", i))
		e.Raise(keys[i], "more", 100)
	}
	for i, key := range keys {
		if diff := cmp.Diff(32*i+1+100, enginetest.Output[int](e, key)); diff != "" {
			t.Error(diff)
		}
	}
}
