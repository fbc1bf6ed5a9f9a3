package orchestrationtest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// A fallback of the registry runs what nothing else does, at once: a test has one fleet, and no deploy to wait for.
func TestFallbacksRunAtOnce(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(func(reg *runtime.Registry) error {
			err := runtime.AddOrchestrationFallback(reg, []string{"flow.*"},
				func(ctx *orchestration.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
					return orchestration.CallActivityNamed[json.RawMessage](ctx, "step."+name, 1)
				})
			if err != nil {
				return err
			}
			return runtime.AddActivityFallback(reg, []string{"step.*"}, func(_ context.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
				return json.Marshal(name)
			})
		})
		parent := orchestration.Define("parent", func(ctx *orchestration.Context, _ int) (string, error) {
			return orchestration.CallOrchestrationNamed[string](ctx, "flow.a", 1, orchestration.Version("3"))
		})
		for range 2 {
			if got, err := orchestrationtest.Start(e, parent, 1).Wait(e.Context()); err != nil || got != "step.flow.a" {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
}
