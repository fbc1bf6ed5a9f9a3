package contextpropagation_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/contextpropagation"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

func TestUserReachesAllActivities(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(func(reg *runtime.Registry) error {
			return errors.Join(
				runtime.AddOrchestration(reg, contextpropagation.Report), runtime.AddOrchestration(reg, contextpropagation.Chapter),
				runtime.AddActivity(reg, contextpropagation.Sign), runtime.AddActivityInterceptor(reg, contextpropagation.Checked{}),
			)
		})
		signed := orchestrationtest.Replace(e, contextpropagation.Sign, contextpropagation.Sign)
		ctx := contextpropagation.WithUser(e.Context(), "ann")
		h, err := client.Start(ctx, e.Client(), contextpropagation.Report, []string{"costs", "plans"})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := h.Wait(e.Context()); text != "report, by ann" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		for _, call := range signed.Calls() {
			if call.Out != call.In+", by ann" {
				t.Errorf("%q was signed as %q", call.In, call.Out)
			}
		}
		if n := len(signed.Calls()); n != 3 {
			t.Errorf("%d calls", n)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Propagators = contextpropagation.Propagators() }))
}

func TestNobodyStartsNothing(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		_, err := client.Start(e.Context(), e.Client(), contextpropagation.Chapter, "costs")
		if !errors.Is(err, contextpropagation.ErrNobody) {
			t.Error(err)
		}
	}, orchestrationtest.WithClient(func(o *client.Options) { o.Interceptors = []client.Interceptor{contextpropagation.Asked{}} }))
}

// A client without the interceptor starts it all the same. The activity refuses.
func TestNobodyRunsNothing(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.Register(func(reg *runtime.Registry) error {
			return errors.Join(
				runtime.AddActivityInterceptor(reg, contextpropagation.Checked{}), runtime.AddActivity(reg, contextpropagation.Sign),
				runtime.AddError(reg, "contextpropagation.nobody", contextpropagation.ErrNobody),
			)
		})
		h := orchestrationtest.Start(e, contextpropagation.Chapter, "costs")
		if _, err := h.Wait(e.Context()); !errors.Is(err, contextpropagation.ErrNobody) {
			t.Error(err)
		}
	})
}
