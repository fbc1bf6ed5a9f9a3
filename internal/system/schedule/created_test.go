package schedule_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
)

// A schedule can be described, changed and backfilled from the first moment on. Without a node that is refused for the right reason, and what is
// not known is not told.
func TestScheduleDirectlyAfterItsCreation(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		w := &world{Engine: e, Client: e.Client(client.Options{})}
		e.Stop(e.Start(w.registry())) // which raises the level of the store, and is listed no more
		ctx := e.T.Context()
		s := w.created("s")
		d, err := s.Describe(ctx)
		if err != nil || d.Revision != 0 || !d.NoNode || !slices.ContainsFunc(d.Findings, func(f string) bool { return strings.Contains(f, "is not known yet") }) {
			e.T.Errorf("described without a node: %+v, %v", d, err)
		}
		from, to := d.CreatedAt.Add(time.Second-5*24*time.Hour), d.CreatedAt
		change := func(spec *client.ScheduleSpec) error {
			spec.Jitter += time.Minute
			return nil
		}
		_, err = s.Backfill(ctx, from, to)
		if !errors.Is(err, client.ErrNoNode) {
			e.T.Errorf("backfill without a node: %v", err)
		}
		if err := s.Update(ctx, change); !errors.Is(err, client.ErrNoNode) {
			e.T.Errorf("update without a node: %v", err)
		}
		rt := e.Start(w.registry())
		for _, id := range []string{"s", "v"} {
			if id == "v" {
				w.created(id)
			}
			if d, err := w.Schedule(id).Describe(ctx); err != nil || !slices.Equal(d.Spec.Crons, []string{"0 0 * * *"}) || d.Spec.Jitter != 0 || d.Revision != 1 {
				e.T.Errorf("described directly after its creation, or the start of a node: %+v, %v", d, err)
			}
		}
		s = w.created("t")
		if n, err := s.Backfill(ctx, from, to); n != 5 || err != nil {
			e.T.Errorf("backfill of 5 days: %d, %v", n, err)
		}
		if err := w.created("u").Update(ctx, change); err != nil {
			e.T.Errorf("update: %v", err)
		}
		if d, err := w.Schedule("u").Describe(ctx); err != nil || d.Spec.Jitter != time.Minute || d.Revision != 2 {
			e.T.Errorf("described after the update: %+v, %v", d, err)
		}
		for _, id := range []string{"s", "t", "u", "v"} {
			if err := w.Schedule(id).Delete(context.WithoutCancel(ctx)); err != nil {
				e.T.Error(err)
			}
		}
		e.Stop(rt)
	})
}

// created creates a schedule and does not wait for a node.
func (w *world) created(id string) client.Schedule {
	w.T.Helper()
	s, err := client.CreateScheduleNamed(w.T.Context(), w.Client, id, client.ScheduleSpec{Crons: []string{"0 0 * * *"}}, "Job", job{Hold: "own"})
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// Jitter beyond the period, a pause and a change lose no run.
func TestJitterLosesNoRun(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(time.Minute)
		spec.Jitter, spec.Overlap, spec.MaxRunning = 270*time.Second, client.OverlapAllowAll, 100
		s := w.create(spec, job{})
		due := func(until time.Duration) int64 {
			n := int64(0)
			for _, d := range w.describe(s).Next { // of what is due, these start later
				if !d.Due.After(begin.Add(until)) {
					n++
				}
			}
			return int64(until/time.Minute) - n
		}
		for n, act := range []func() error{
			func() error { return nil },
			func() error { return s.Pause(w.T.Context(), "") },
			func() error { return s.Resume(w.T.Context(), "") },
			func() error {
				return s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error { spec.Limit = 1000; return nil })
			},
			func() error {
				_, err := client.EnsureSchedule(w.T.Context(), w.Client, "s", spec, Job, job{})
				return err
			},
			func() error { return nil },
		} {
			if n != 2 { // the pause lasts no time
				w.pass(time.Duration(n+1) * 6 * time.Minute)
			}
			w.must(act())
		}
		w.pass(90*time.Minute + 30*time.Second)
		d := w.describe(s)
		if len(d.Next) != 5 || d.Skips["missed"] != 0 || d.Started != due(90*time.Minute) {
			t.Errorf("%d of %d due times have started: %+v", d.Started, due(90*time.Minute), d)
		}
	})
}

// A start that jitter delays holds for a change that names no other time.
func TestJitteredStartOutlivesAChange(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(client.ScheduleSpec{At: []time.Time{begin.Add(time.Hour)}, Jitter: 3 * time.Hour}, job{})
		w.pass(time.Hour + time.Second)
		w.wantBegan("")
		if err := s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error { spec.PauseAfterFailures = 3; return nil }); err != nil {
			t.Fatal(err)
		}
		w.pass(5 * time.Hour)
		w.wantBegan("01:00:00")
	})
}
