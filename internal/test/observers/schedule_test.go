package observers

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// Each start by a schedule counts once, with the time since it was due.
func TestScheduledStartsAreTold(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		main := orchestration.Define("main", child)
		orchestrationtest.AddOrchestration(e, main)
		orchestrationtest.ReplaceNamed(e, "work", func(_ context.Context, n int) (int, error) { return n, nil }, orchestrationtest.Times(3))
		hourly := client.ScheduleSpec{Crons: []string{"0 * * * *"}, Zone: "UTC"}
		s, err := client.CreateSchedule(e.Context(), e.Client(), "hourly", hourly, main, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Sleep(3*time.Hour + time.Minute)
		if err := s.Delete(e.Context()); err != nil {
			t.Fatal(err)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Observer = r }))
	all := r.of(observe.Scheduled, observe.Begun)
	if len(all) != 3 {
		t.Fatalf("%d starts, want 3: %+v", len(all), all)
	}
	for _, ev := range all {
		if ev.Orchestration != "main" || ev.Took < 0 || ev.Took > time.Minute {
			t.Errorf("%+v", ev)
		}
	}
}

// Due times that a schedule lets pass count once, under the orchestration that it starts, however often its history is replayed.
func TestHazard90_SkipsAreCountedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		overlap client.ScheduleOverlap
		outage  bool
		want    map[observe.Outcome]int64
	}{
		"skip":   {client.OverlapSkip, false, map[observe.Outcome]int64{observe.Begun: 1, observe.Skipped: 4}},
		"buffer": {client.OverlapBufferOne, false, map[observe.Outcome]int64{observe.Begun: 1, observe.Buffered: 1, observe.Skipped: 3}},
		"missed": {client.OverlapSkip, true, map[observe.Outcome]int64{observe.Begun: 1, observe.Missed: 2, observe.Skipped: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				r := &recorder{}
				e.Options.Observer = r
				reg := runtime.NewRegistry()
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ int) (int, error) {
					return orchestration.Events[int](ctx, "go").Receive(ctx)
				})
				rt := e.Start(reg)
				by, err := rt.Client(client.Options{})
				if err != nil {
					e.T.Fatal(err)
				}
				spec := client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}, Zone: "UTC", Overlap: c.overlap}
				if _, err := client.CreateScheduleNamed(e.T.Context(), by, "hourly", spec, "main", 1); err != nil {
					e.T.Fatal(err)
				}
				pass(90 * time.Minute)
				if c.outage {
					e.Stop(rt)
					pass(3 * time.Hour)
					rt = e.Start(reg)
					pass(time.Hour)
				} else {
					pass(4 * time.Hour)
				}
				e.Stop(rt)
				got := map[observe.Outcome]int64{}
				for _, ev := range r.of(observe.Scheduled, "") {
					if got[ev.Outcome] += ev.Count; ev.Orchestration != "main" || ev.Outcome != observe.Begun && ev.Took != observe.NoTime {
						e.T.Errorf("%+v", ev)
					}
				}
				if !maps.Equal(got, c.want) {
					e.T.Errorf("got %v, want %v", got, c.want)
				}
				e.Unchecked("a run still waits")
			})
		})
	}
}
