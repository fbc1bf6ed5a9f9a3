package orchestration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type (
	octx = orchestration.Context
	none = orchestration.None
)

// registry makes a registry with the activities that most scenarios use.
func registry(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddActivity(reg, Double), runtime.AddActivity(reg, Refuse), runtime.AddActivity(reg, Hang)); err != nil {
		t.Fatal(err)
	}
	return reg
}

// Double is an activity that succeeds.
func Double(_ context.Context, n int) (int, error) { return 2 * n, nil }

var errRefused = errors.New("refused")

// Refuse is an activity that fails.
func Refuse(_ context.Context, what string) (none, error) {
	return none{}, errors.Join(errRefused, errors.New(what))
}

// Hang is an activity that runs until it is told to stop, and obeys.
func Hang(ctx context.Context, _ none) (none, error) {
	<-ctx.Done()
	return none{}, context.Cause(ctx)
}

// start registers an orchestration as "main", starts a node and an instance of it.
func start[In, Out any](e *enginetest.Engine, reg *runtime.Registry, fn func(*octx, In) (Out, error), in In) provider.UUID {
	e.T.Helper()
	enginetest.Orchestration(e.T, reg, "main", fn)
	e.Start(reg)
	return e.Create("main", "main", in)
}
