package updates

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
)

// begun waits until the code of an instance has begun.
func begun(p *place, h client.Handle[int]) {
	p.T.Helper()
	p.Until("it has begun", func() bool { return p.Get(h.Key()).HistoryLength > 0 })
}

// A repeated reset returns the number of the execution that it opened, whatever has come since.
func TestHazard57_ARepeatedResetNamesItsExecution(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		ctx, h := t.Context(), start(t, p)
		reset := func(id string, at, want int64) {
			t.Helper()
			begun(p, h) //nolint:contextcheck // that of the test
			if got, err := client.Reset(ctx, h, at, client.Repeatable(id)); got != want || err != nil {
				t.Errorf("reset %q: execution %d, %v; want %d", id, got, err, want)
			}
		}
		begun(p, h)
		reset("a", 1, 2)
		reset("b", 1, 3)
		reset("a", 1, 2)
		begun(p, h)
		reset("c", int64(len(p.History(h.Key(), 3)))+1, 4) // its prefix has the point of b
		reset("b", 1, 3)
		if err := h.Raise(ctx, "main", "continue"); err != nil {
			t.Fatal(err)
		}
		p.Until("the next execution", func() bool { return p.Get(h.Key()).Execution == 5 })
		begun(p, h)
		for id, want := range map[string]int64{"a": 2, "b": 3, "c": 4} {
			reset(id, 1, want)
		}
		finish(t, h)
		reset("c", 1, 4)
		if got := p.Get(h.Key()).Execution; got != 5 {
			t.Errorf("the repeats have opened executions up to %d", got)
		}
	})
}

// A fork into the ID of an instance that was started otherwise is refused, even if both have the same request ID.
func TestHazard57_AForkTakesNoOtherStartForItself(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		ctx, h := t.Context(), start(t, p, client.WithID("origin"))
		other := start(t, p, client.WithID("other"))
		for _, h := range []client.Handle[int]{h, other} {
			begun(p, h)
		}
		delayed := start(t, p, client.WithID("delayed"), client.WithRequestID("r"), client.WithDelay(patience*100))
		running := start(t, p, client.WithID("running"), client.WithRequestID("r"))
		begun(p, running)
		for _, id := range []string{"delayed", "running"} {
			if f, err := client.Fork(ctx, h, 1, id, client.Repeatable("r")); !errors.Is(err, client.ErrExists) {
				t.Errorf("a fork into %s: %v, %v", id, f.Key(), err)
			}
		}
		first, err := client.Fork(ctx, h, 1, "fork", client.Repeatable("r"))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := client.Fork(ctx, h, 1, "fork", client.Repeatable("r")); err != nil || again.Key() != first.Key() {
			t.Errorf("the repeat of a fork: %v, %v; want %v", again.Key(), err, first.Key())
		}
		if _, err := client.Fork(ctx, other, 1, "fork", client.Repeatable("r")); !errors.Is(err, client.ErrExists) {
			t.Errorf("a fork of another instance: %v", err)
		}
		for _, h := range []client.Handle[int]{h, other, delayed, running, first} {
			if err := h.Terminate(ctx, ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}
