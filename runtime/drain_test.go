package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Drains and pauses in a race with work and with the end of the node lose nothing and leave nothing behind.
func TestDrainsAndPausesRaceWithWork(t *testing.T) {
	t.Parallel()
	e := enginetest.Memory(t, runtime.Options{})
	reg := runtime.NewRegistry()
	enginetest.Activity(t, reg, "step", func(_ context.Context, n int) (int, error) { return n + 1, nil })
	enginetest.Orchestration(t, reg, "steps", func(ctx *orchestration.Context, n int) (sum int, err error) {
		for range n {
			if sum, err = orchestration.CallActivityNamed[int](ctx, "step", sum); err != nil {
				return 0, err
			}
		}
		return sum, nil
	})
	rt := e.Start(reg)
	c := e.Client(client.Options{})
	over, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for n := 0; ; n++ {
			select {
			case <-stop:
				rt.Pause()
				rt.Undrain()
				return
			default:
			}
			rt.Pause(orchestration.DefaultQueue)
			rt.Drain()
			rt.Undrain()
			rt.Pause()
		}
	}()
	var keys []provider.UUID
	var failed error
	for range 50 {
		h, err := client.StartNamed[int](t.Context(), c, "steps", 10)
		keys, failed = append(keys, h.Key()), errors.Join(failed, err)
	}
	if failed != nil {
		t.Fatal(failed)
	}
	close(stop)
	<-over
	for _, key := range keys {
		if got := enginetest.Output[int](e, key); got != 10 {
			t.Errorf("got %d", got)
		}
	}
	rt.Drain()
	e.Stop(rt)
	rt.Undrain() // there is no way back
	if h, err := rt.Health(t.Context()); err != nil || h.State == runtime.Running {
		t.Errorf("%+v, %v", h, err)
	}
}
