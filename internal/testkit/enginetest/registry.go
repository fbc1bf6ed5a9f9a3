package enginetest

import (
	"context"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Orchestration registers a function, usually a closure of a test, under a name.
func Orchestration[In, Out any](t testing.TB, reg *runtime.Registry, name string, fn func(*orchestration.Context, In) (Out, error)) {
	t.Helper()
	if err := runtime.AddOrchestration(reg, orchestration.Define(name, fn)); err != nil {
		t.Fatal(err)
	}
}

// Activity registers a function, usually a closure of a test, under a name.
func Activity[In, Out any](
	t testing.TB, reg *runtime.Registry, name string, fn func(context.Context, In) (Out, error), opts ...runtime.RegisterOption,
) {
	t.Helper()
	if err := runtime.AddActivity(reg, activity.Define(name, fn), opts...); err != nil {
		t.Fatal(err)
	}
}
