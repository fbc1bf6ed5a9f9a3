package cleanup_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/cleanup"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestCancelledWorkIsCleanedUp(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, cleanup.Draw)
		removed := orchestrationtest.Replace(e, cleanup.Remove, nil)
		began := time.Now()
		h := orchestrationtest.Start(e, cleanup.Render, "holiday")
		e.After(time.Hour, func() error { return h.Cancel(e.Context(), "nobody wants to see it") })
		if _, err := h.Wait(e.Context()); !errors.Is(err, orchestration.ErrCancelled) || time.Since(began) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if calls := removed.Calls(); len(calls) != 1 || calls[0].In != "holiday" {
			t.Errorf("removed %v", calls)
		}
	})
}

func TestCleaningWaitsForTheWork(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, cleanup.Draw, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			time.Sleep(5 * time.Second) // takes no real time in the bubble of the test
			return "", context.Cause(ctx)
		})
		removed := orchestrationtest.Replace(e, cleanup.Remove, nil)
		began := time.Now()
		h := orchestrationtest.Start(e, cleanup.Render, "holiday")
		e.After(30*time.Second, func() error { return h.Cancel(e.Context(), "nobody wants to see it") })
		if _, err := h.Wait(e.Context()); !errors.Is(err, orchestration.ErrCancelled) {
			t.Error(err)
		}
		if calls := removed.Calls(); len(calls) != 1 || calls[0].At.Sub(began) != 35*time.Second {
			t.Errorf("removed %v", calls)
		}
	})
}

func TestFinishedWorkStays(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.Replace(e, cleanup.Draw, func(_ context.Context, film string) (string, error) { return film + ".mp4", nil })
		if file, err := orchestrationtest.Start(e, cleanup.Render, "holiday").Wait(e.Context()); file != "holiday.mp4" || err != nil {
			t.Errorf("%q, %v", file, err)
		}
	})
}
