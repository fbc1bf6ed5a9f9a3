package schedule_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

func (w *world) key(id string) provider.UUID {
	w.T.Helper()
	d, err := w.Client.Describe(w.T.Context(), id)
	w.must(err)
	return d.Key
}

func TestBufferOne(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(time.Minute)
		spec.Overlap = client.OverlapBufferOne
		s := w.create(spec, job{Hold: "x"})
		w.pass(3*time.Minute + 30*time.Second)
		w.wantBegan("00:01:00")
		if d := w.describe(s); d.Skips["waiting"] != 1 || !d.Waiting.Equal(begin.Add(2*time.Minute)) || d.Running[0].Blocked != 2 {
			t.Errorf("%+v", d)
		}
		w.finish("00:01:00") // at 03:30
		w.wantBegan("00:01:00 00:02:00")
		if d := w.describe(s); !d.Waiting.IsZero() || d.Runs != 1 {
			t.Errorf("%+v", d)
		}
	})
}

func TestCancelOther(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(time.Minute)
		spec.Overlap = client.OverlapCancelOther
		s := w.create(spec, job{Hold: "x"})
		w.pass(3 * time.Minute)
		w.wantBegan("00:01:00 00:02:00 00:03:00")
		if d := w.describe(s); len(d.Skips) > 0 || d.Runs != 1 || d.Ended[0].Status != "Cancelled" || d.Ended[0].Due != begin.Add(2*time.Minute) {
			t.Errorf("%+v", d)
		}
	})
}

// A suspended run does not hear that it is cancelled. The schedule gives the due time up and goes on when the run has ended.
func TestCancelOtherOfSuspendedRun(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(10 * time.Minute)
		spec.Overlap = client.OverlapCancelOther
		s := w.create(spec, job{Hold: "x"})
		w.pass(10 * time.Minute)
		key := w.key("s/2000-01-01T00:10:00Z")
		w.Steer(key, provider.SteerSuspend)
		w.pass(20 * time.Minute)
		if d := w.describe(s); d.Waiting.IsZero() {
			t.Errorf("%+v", d)
		}
		w.pass(21*time.Minute + time.Second)
		if d := w.describe(s); !d.Waiting.IsZero() || d.Skips["suspended"] != 1 || d.Running[0].Blocked != 1 {
			t.Errorf("%+v", d)
		}
		w.pass(30 * time.Minute)
		w.Steer(key, provider.SteerResume)
		w.pass(30*time.Minute + 2*time.Second)
		w.wantBegan("00:10:00 00:30:00")
	})
}

func TestAllowAllUpToLimit(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(time.Minute)
		spec.Overlap, spec.MaxRunning = client.OverlapAllowAll, 3
		s := w.create(spec, job{Hold: "x"})
		w.pass(5 * time.Minute)
		w.wantBegan("00:01:00 00:02:00 00:03:00")
		if d := w.describe(s); d.Skips["limit"] != 2 || d.Runs != 3 {
			t.Errorf("%+v", d)
		}
		w.finish("00:02:00")
		w.pass(7 * time.Minute)
		w.wantBegan("00:01:00 00:02:00 00:03:00 00:06:00")
	})
}
