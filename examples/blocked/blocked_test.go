package blocked_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/blocked"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

func TestFixedCodeReleasesABlockedInstance(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		e.AllowBlocked()
		ctx, c := e.Context(), e.Client()
		h := orchestrationtest.Start(e, (&blocked.Code{}).Bill, 4200, client.WithID("bill-1"))
		_, err := h.Wait(ctx)
		if problem, ok := errors.AsType[*client.BlockedError](err); !ok || problem.Reason != "panic" {
			t.Fatalf("%v, want it blocked", err)
		}
		if found, err := blocked.List(ctx, c); !maps.Equal(found, map[string]string{"bill-1": "panic"}) || err != nil {
			t.Errorf("%v, %v", found, err)
		}
		if d, err := h.Describe(ctx); d.Status != client.StatusRunning || err != nil { // it has not failed and will not fail
			t.Errorf("%v, %v", d.Status, err)
		}

		// Deploy the fixed code. Unblock retries at once instead of at the next retry.
		e.Deploy(func(reg *runtime.Registry) error {
			return runtime.AddOrchestration(reg, (&blocked.Code{Fixed: true}).Bill)
		})
		e.Node().Stop()
		if err := c.Unblock(ctx, "bill-1"); err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(ctx); out != 4200 || err != nil {
			t.Errorf("%d, %v", out, err)
		}
	})
}
