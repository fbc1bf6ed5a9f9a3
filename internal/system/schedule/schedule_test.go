package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider/memory"
)

func every(d time.Duration) client.ScheduleSpec {
	return client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: d}}}
}

func TestRunsStartAtTheirTimes(t *testing.T) {
	scheduled(t, func(w *world) {
		w.pass(30 * time.Second)
		s := w.create(client.ScheduleSpec{Crons: []string{"*/10 * * * *"}, At: []time.Time{begin.Add(5 * time.Minute), begin.Add(20 * time.Minute)}}, job{})
		w.pass(4*time.Minute + 59*time.Second)
		w.wantBegan("")
		w.pass(31 * time.Minute)
		w.wantBegan("00:05:00 00:10:00 00:20:00 00:30:00")
		d := w.describe(s)
		if d.Started != 4 || d.Runs != 0 || len(d.Ended) != 4 || d.Ended[0].Status != "Completed" || len(d.Findings) > 0 ||
			!d.Next[0].At.Equal(begin.Add(40*time.Minute)) {
			t.Errorf("%+v", d)
		}
	})
}

func TestSkip(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Minute), job{Hold: "x"})
		w.pass(3 * time.Minute)
		w.wantBegan("00:01:00")
		d := w.describe(s)
		if d.Skips["running"] != 2 || d.Running[0].Blocked != 2 || len(d.Findings) != 0 || d.Skipped[0].Detail != d.Running[0].ID {
			t.Errorf("%+v", d)
		}
		w.pass(4 * time.Minute)
		if d := w.describe(s); len(d.Findings) != 1 {
			t.Errorf("three ticks are no finding: %+v", d)
		}
		w.finish("00:01:00")
		w.pass(5 * time.Minute)
		w.wantBegan("00:01:00 00:05:00")
	})
}

// A schedule does the same with its execution in memory and replayed at each turn, also over continue-as-new.
func TestEveryMode(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		w := newWorld(e)
		spec := every(time.Minute)
		spec.Overlap = client.OverlapBufferOne
		s := w.create(spec, job{Hold: "x"})
		w.pass(2*time.Minute + 30*time.Second)
		w.finish("00:01:00")
		w.finish("00:02:00")
		w.must(s.Pause(w.T.Context(), ""))
		w.must(s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error {
			spec.Overlap = client.OverlapAllowAll
			return nil
		}))
		if _, err := s.Backfill(w.T.Context(), begin.Add(time.Minute), begin.Add(2*time.Minute)); err != nil {
			t.Error(err)
		}
		w.pass(3*time.Minute + 30*time.Second)
		for range 100 {
			w.must(s.Resume(w.T.Context(), ""))
		}
		w.pass(5*time.Minute + time.Second)
		w.wantBegan("00:01:00 00:01:00+ 00:02:00 00:02:00+ 00:04:00 00:05:00")
		if d := w.describe(s); d.Started != 6 || d.Runs != 4 || len(d.Skips) > 0 {
			t.Errorf("%+v", d)
		}
	})
}

// A node that does not know the zone starts nothing and says so. The schedule goes on when the zone is known or changed.
func TestUnknownZoneIsAFinding(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.crafted(form.State{Spec: form.Spec{Zone: "Mars/Olympus"}})
		w.pass(2*time.Minute + time.Second)
		if d := w.describe(s); len(d.Findings) != 1 || !strings.Contains(d.Findings[0], "Mars/Olympus") || d.Started != 0 {
			t.Errorf("%+v", d)
		}
		w.must(s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error {
			spec.Zone = ""
			return nil
		}))
		w.pass(3*time.Minute + time.Second)
		w.wantBegan("00:03:00")
		if d := w.describe(s); len(d.Findings) > 0 {
			t.Errorf("%+v", d)
		}
	})
}

// A store that nodes of a release before may use takes no schedule, and the error names the command that mends it.
func TestStoreOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	c := clienttest.New(t, store, client.Options{})
	_, err := client.CreateScheduleNamed(t.Context(), c, "s", every(time.Hour), "Job", job{})
	if !errors.Is(err, client.ErrNotFinished) || !strings.Contains(err.Error(), "perdure upgrade --finish") {
		t.Error(err)
	}
}
