package bulk_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Renews continues as new with each event.
func Renews(ctx *orchestration.Context, n int) (int, error) {
	if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
		return n, err
	}
	return n, orchestration.ContinueAsNew(ctx, n+1)
}

// A continue-as-new between the look at a history and the reset makes the reset and the fork fail, and nothing happens. A repeat of a reset that
// was made finds it, although the instance is in the next execution by then.
func TestHazard152_AnotherExecutionIsNotReset(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	reg := registry(t)
	if err := runtime.AddOrchestration(reg, Renews); err != nil {
		t.Fatal(err)
	}
	e.Start(reg)
	w := &world{Engine: e, Client: e.Client(client.Options{})}
	h, err := client.Start(t.Context(), w.Client, Renews, 0, client.WithID("c-0"))
	if err != nil {
		t.Fatal(err)
	}
	in := func(execution int64) {
		t.Helper()
		w.Until("it is in the execution", func() bool {
			i := w.Get(h.Key())
			return i.Execution == execution && i.HistoryLength > 0 && i.ReadyAt == 0
		})
	}
	in(1)
	d, err := h.Describe(t.Context()) // the look
	if err == nil {
		err = h.Raise(t.Context(), "go", 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	in(2)
	if _, err := client.Reset(t.Context(), h, 1, client.InExecution(d.Execution)); !errors.Is(err, client.ErrSuperseded) {
		t.Errorf("a reset of execution 1: %v, want ErrSuperseded", err)
	}
	if _, err := client.Fork(t.Context(), h, 1, "c-fork", client.InExecution(d.Execution)); !errors.Is(err, client.ErrSuperseded) {
		t.Errorf("a fork of execution 1: %v, want ErrSuperseded", err)
	}
	if n, err := w.Count(t.Context(), client.Filter{IDPrefix: "c-"}); err != nil || n != 1 || w.Get(h.Key()).Execution != 2 {
		t.Errorf("%d instances %v, execution %d, want nothing to have happened", n, err, w.Get(h.Key()).Execution)
	}
	for range 2 {
		if execution, err := client.Reset(t.Context(), h, 1, client.InExecution(2), client.Repeatable("r")); err != nil || execution != 3 {
			t.Errorf("execution %d %v, want 3 by both", execution, err)
		}
		in(3)
	}
	if _, err := client.Reset(t.Context(), h, 1, client.InExecution(0)); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("execution 0: %v", err)
	}
}
