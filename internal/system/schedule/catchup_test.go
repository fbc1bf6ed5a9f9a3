package schedule_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/schedule"
)

// outage stops the node until a moment after the beginning.
func (w *world) outage(until time.Duration) {
	w.T.Helper()
	w.Stop(w.rt)
	w.pass(until)
	w.rt = w.Start(w.registry())
	w.pass(until + time.Second)
}

func TestCatchUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		catchUp client.CatchUp
		overlap client.ScheduleOverlap
		want    string
		missed  int64
	}{
		"the latest":         {want: "00:10:00 01:00:00 01:10:00", missed: 4},
		"none":               {catchUp: client.NoCatchUp(), want: "00:10:00 01:10:00", missed: 5},
		"three":              {catchUp: client.CatchUp{Max: 3}, overlap: client.OverlapAllowAll, want: "00:10:00 00:40:00 00:50:00 01:00:00 01:10:00", missed: 2},
		"a short window":     {catchUp: client.CatchUp{Window: 20 * time.Minute, Max: 9}, overlap: client.OverlapAllowAll, want: "00:10:00 00:50:00 01:00:00 01:10:00", missed: 3},
		"a window too short": {catchUp: client.CatchUp{Window: 3 * time.Minute}, want: "00:10:00 01:10:00", missed: 5},
	} {
		t.Run(name, func(t *testing.T) {
			scheduled(t, func(w *world) {
				spec := every(10 * time.Minute)
				spec.CatchUp, spec.Overlap = c.catchUp, c.overlap
				s := w.create(spec, job{})
				w.pass(15 * time.Minute)
				w.outage(time.Hour + 5*time.Minute)
				w.pass(time.Hour + 15*time.Minute)
				w.wantBegan(c.want)
				if d := w.describe(s); d.Skips["missed"] != c.missed {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

// A schedule is due from its creation on, also before a node has run it for the first time.
func TestDueBeforeTheFirstTurn(t *testing.T) {
	scheduled(t, func(w *world) {
		w.Stop(w.rt)
		s := w.crafted(form.State{Spec: form.Spec{Every: []form.Interval{{Every: form.Duration(10 * time.Minute)}}}})
		w.pass(25 * time.Minute)
		w.rt = w.Start(w.registry())
		w.pass(30*time.Minute + time.Second)
		w.wantBegan("00:20:00 00:30:00")
		if d := w.describe(s); d.Skips["missed"] != 1 || !d.CreatedAt.Equal(begin) {
			t.Errorf("%+v", d)
		}
	})
}

// Two weeks of outage do not flood the store.
func TestLongOutage(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Second), job{})
		w.pass(1 * time.Second)
		w.outage(14 * 24 * time.Hour)
		if d := w.describe(s); d.Started > 10 || d.Skips["missed"] < 1000 {
			t.Errorf("%+v", d)
		}
	})
}

func TestPauseIsNotCaughtUp(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(10*time.Minute), job{})
		w.pass(15 * time.Minute)
		w.must(s.Pause(w.T.Context(), "for a while"))
		if d := w.describe(s); !d.Paused || d.Note != "for a while" || d.Next != nil {
			t.Errorf("%+v", d)
		}
		w.pass(45 * time.Minute)
		w.must(s.Resume(w.T.Context(), "again"))
		w.pass(55 * time.Minute)
		w.wantBegan("00:10:00 00:50:00")
		// Nor is it after an outage while it was paused.
		w.must(s.Pause(w.T.Context(), ""))
		w.outage(2 * time.Hour)
		w.must(s.Resume(w.T.Context(), ""))
		w.pass(2*time.Hour + 5*time.Minute)
		w.wantBegan("00:10:00 00:50:00")
		if d := w.describe(s); len(d.Skips) > 0 {
			t.Errorf("%+v", d)
		}
	})
}

func TestPauseAfterFailures(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(time.Minute)
		spec.PauseAfterFailures = 3
		s := w.create(spec, job{Fail: true})
		w.pass(10 * time.Minute)
		w.wantBegan("00:01:00 00:02:00 00:03:00")
		if d := w.describe(s); !d.Paused || d.FailedInARow != 3 || d.Note == "" {
			t.Errorf("%+v", d)
		}
		w.must(s.Resume(w.T.Context(), ""))
		w.pass(12 * time.Minute)
		w.wantBegan("00:01:00 00:02:00 00:03:00 00:11:00 00:12:00")
	})
}

// Of due times that are caught up at once, no more start than the limit leaves.
func TestLimitOfACatchUp(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(10 * time.Minute)
		spec.Limit, spec.CatchUp, spec.Overlap = 3, client.CatchUp{Max: 9}, client.OverlapAllowAll
		s := w.create(spec, job{})
		w.pass(15 * time.Minute)
		w.outage(time.Hour + 5*time.Minute)
		w.pass(2 * time.Hour)
		w.wantBegan("00:10:00 00:20:00 00:30:00")
		if d := w.describe(s); !d.Done || d.Started != 3 || d.Skips["missed"] != 0 {
			t.Errorf("%+v", d)
		}
	})
}

func TestLimit(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(time.Minute)
		spec.Limit = 2
		s := w.create(spec, job{})
		w.pass(10 * time.Minute)
		w.wantBegan("00:01:00 00:02:00")
		if d := w.describe(s); !d.Done || d.Next != nil {
			t.Errorf("%+v", d)
		}
		if _, err := s.Trigger(w.T.Context()); err == nil {
			t.Error("a trigger goes beyond the limit")
		}
		w.must(s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error {
			spec.Limit = 1
			return nil
		}))
		w.pass(20 * time.Minute)
		w.wantBegan("00:01:00 00:02:00 00:11:00")
	})
}
