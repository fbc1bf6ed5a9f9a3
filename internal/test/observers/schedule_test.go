package observers

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/runtime"
)

// What a schedule starts counts once, with the time since it was due.
func TestScheduledStartsAreTold(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		r := &recorder{}
		e.Options.Observer = r
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "main", child)
		enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) { return n, nil })
		rt := e.Start(reg)
		c, err := rt.Client(client.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		s, err := client.CreateScheduleNamed(e.T.Context(), c, "hourly", client.ScheduleSpec{Crons: []string{"0 * * * *"}, Zone: "UTC"}, "main", 1)
		if err != nil {
			e.T.Fatal(err)
		}
		pass(3*time.Hour + time.Minute)
		if err := s.Delete(e.T.Context()); err != nil {
			e.T.Fatal(err)
		}
		e.Stop(rt)
		all := r.of(observe.Scheduled, observe.Begun)
		if len(all) != 3 {
			e.T.Fatalf("%d starts, want 3: %+v", len(all), all)
		}
		for _, ev := range all {
			if ev.Orchestration != "main" || ev.Took < 0 || ev.Took > time.Minute {
				e.T.Errorf("%+v", ev)
			}
		}
	})
}
