package schedule_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
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
