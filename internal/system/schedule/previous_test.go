package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// TestHazard128_RunsKnowTheRunBefore: a run is told how the run before has ended: the output up to 16 KiB, else its size, or the failure, cut if it
// is large. It passes that on when it continues as new, beside an input of 2 MiB, too. A replay sees the same.
func TestHazard128_RunsKnowTheRunBefore(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		t := e.T
		var seen enginetest.Notes[string]
		reg := runtime.NewRegistry()
		enginetest.Orchestration(t, reg, "Other", func(*orchestration.Context, int) (string, error) { return "other", nil })
		enginetest.Orchestration(t, reg, "Job", func(ctx *orchestration.Context, in string) (string, error) {
			p := ctx.Info().Previous
			var out string
			bad := p.Decode(&out)
			text := "none"
			switch {
			case p.Err() != nil:
				text = p.Status + " " + p.Err().Error()[:8] + " " + p.ID[:2]
				if len(p.Err().Error()) > 2<<10 {
					t.Errorf("a failure of %d bytes is kept", len(p.Err().Error()))
				}
			case p != nil && bad != nil:
				text = "large"
				if !errors.Is(bad, orchestration.ErrPayload) || p.OutputBytes < 16<<10 || p.Output != nil {
					t.Errorf("a large output: %v, %d bytes", bad, p.OutputBytes)
				}
			case p != nil:
				text = out
			}
			if !strings.HasPrefix(in, "long") {
				seen.Add(text)
				return "", orchestration.ContinueAsNew(ctx, "long"+strings.Repeat("x", 2<<20-16))
			}
			if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
				return "", err
			}
			seen.Add("again " + text)
			switch {
			case p == nil:
				return "", errors.New("no luck" + strings.Repeat("y", 100<<10))
			case p.Err() != nil:
				return strings.Repeat("z", 16<<10), nil //nolint:nilerr // the error is that of another run
			default:
				return "fine", nil
			}
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		if _, err := client.CreateScheduleNamed(t.Context(), c, "s", client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Minute}}}, "Job", "begin"); err != nil {
			t.Fatal(err)
		}
		if _, err := client.StartNamed[string](t.Context(), c, "Other", 0, client.WithID("s/other")); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			time.Sleep(time.Minute) //nolint:forbidigo // virtual
			for d, err := range c.All(t.Context(), client.Filter{Statuses: []client.Status{client.StatusRunning}}) {
				if err != nil {
					t.Fatal(err)
				}
				h := client.HandleOf[string](c, d.ID, d.Key)
				if err := h.Raise(t.Context(), "go", 1); err != nil {
					t.Fatal(err)
				}
				_, _ = h.Wait(t.Context())
			}
		}
		got := strings.Join(seen.All(), ", ")
		if want := "none, again none, "; !strings.HasPrefix(got, want) || !strings.Contains(got, "large, again large") ||
			!strings.Contains(got, "Failed no lucky s/, again Failed no lucky s/") || !strings.Contains(got, "fine, again fine") {
			t.Errorf("runs saw %s", got)
		}
	})
}
