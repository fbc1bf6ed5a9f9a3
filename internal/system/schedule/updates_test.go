package schedule_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
)

// Job stands for the orchestration of the runs where a test starts it by its function.
func Job(*orchestration.Context, job) (string, error) { return "", nil }

// other returns a client of another process.
func (w *world) other() *client.Client { return clienttest.New(w.T, w.Store, client.Options{}) }

func TestTrigger(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Hour), job{Hold: "x"}, client.CreatePaused("not yet"))
		w.pass(10 * time.Minute)
		first, err := s.Trigger(w.T.Context())
		w.must(err)
		w.wantBegan("00:10:00+")
		if first.Run == nil || !first.Due.Equal(begin.Add(10*time.Minute)) {
			t.Fatalf("%+v", first)
		}
		second, err := s.Trigger(w.T.Context())
		w.must(err)
		if second.Run != nil || second.Reason != "running" || second.Detail != first.Run.ID {
			t.Errorf("%+v", second)
		}
		w.wantBegan("00:10:00+")
	})
}

func TestBackfill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		overlap client.ScheduleOverlap
		want    string // begun before one of them ends
	}{
		"one by one": {client.OverlapSkip, "00:10:00+"},
		"beside":     {client.OverlapAllowAll, "00:10:00+ 00:20:00+ 00:30:00+"},
	} {
		t.Run(name, func(t *testing.T) {
			scheduled(t, func(w *world) {
				spec := every(10 * time.Minute)
				spec.Overlap = c.overlap
				s := w.create(spec, job{Hold: "x"}, client.CreatePaused(""))
				w.pass(35 * time.Minute)
				n, err := s.Backfill(w.T.Context(), begin.Add(10*time.Minute), begin.Add(30*time.Minute))
				w.must(err)
				if n != 3 {
					t.Errorf("%d due times", n)
				}
				w.wantBegan(c.want)
				for range 3 {
					for _, r := range w.describe(s).Running {
						w.must(w.Client.Raise(w.T.Context(), r.ID, "go", 1))
					}
				}
				w.wantBegan("00:10:00+ 00:20:00+ 00:30:00+")
				if d := w.describe(s); d.Backfills != 0 || d.Started != 3 || len(d.Skips) > 0 {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

func TestBackfillIsRefused(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Second), job{})
		for _, c := range []struct {
			from, to time.Duration
			want     error
		}{{time.Hour, 0, client.ErrInvalid}, {-time.Hour, 0, client.ErrTooLarge}, {0, time.Hour, client.ErrInvalid}, {-900 * time.Millisecond, -800 * time.Millisecond, client.ErrInvalid}} {
			if _, err := s.Backfill(w.T.Context(), begin.Add(c.from), begin.Add(c.to)); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestUpdateOfSpec(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Hour), job{})
		w.pass(15 * time.Minute)
		raced := false
		w.must(s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error {
			if !raced { // somebody else is faster
				raced = true
				w.must(s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error {
					spec.PauseAfterFailures = 7
					return nil
				}))
			}
			spec.Every[0].Every = 10 * time.Minute
			return nil
		}))
		d := w.describe(s)
		if d.Revision != 3 || d.Spec.PauseAfterFailures != 7 || d.Spec.Every[0].Every != 10*time.Minute {
			t.Errorf("%+v", d)
		}
		w.pass(35 * time.Minute)
		w.wantBegan("00:20:00 00:30:00")
		if err := s.Update(w.T.Context(), func(spec *client.ScheduleSpec) error {
			spec.Zone = "Mars/Olympus"
			return nil
		}); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
		if err := w.Client.Schedule("other").Pause(w.T.Context(), ""); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
	})
}

func TestEnsure(t *testing.T) {
	scheduled(t, func(w *world) {
		ensure := func(spec client.ScheduleSpec, in job) client.ScheduleDescription {
			t.Helper()
			s, err := client.EnsureSchedule(w.T.Context(), w.Client, "s", spec, Job, in)
			w.must(err)
			return w.describe(s)
		}
		ensure(every(time.Hour), job{})
		if d := ensure(every(time.Hour), job{}); d.Revision != 1 || d.CodeVersion != "" || d.Newest {
			t.Errorf("nothing has changed: %+v", d)
		}
		w.must(w.Client.Schedule("s").Pause(w.T.Context(), "by hand"))
		if d := ensure(every(time.Minute), job{}); d.Revision != 2 || !d.Paused || d.Note != "by hand" {
			t.Errorf("%+v", d)
		}
		if d := ensure(every(time.Minute), job{Fail: true}); d.Revision != 3 {
			t.Errorf("%+v", d)
		}
		w.must(w.Client.Schedule("s").Resume(w.T.Context(), ""))
		w.pass(time.Minute + time.Second)
		if d := w.describe(w.Client.Schedule("s")); d.Failed != 1 {
			t.Errorf("the new input is not used: %+v", d)
		}
	})
}

func TestListAndDelete(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Minute), job{})
		if _, err := client.CreateScheduleNamed(w.T.Context(), w.Client, "s", every(time.Hour), "Job", job{}); !errors.Is(err, client.ErrExists) {
			t.Errorf("a second one: %v", err)
		}
		for _, id := range []string{"a", "b"} {
			_, err := client.CreateScheduleNamed(w.T.Context(), w.Client, id, every(time.Hour), "Job", job{})
			w.must(err)
		}
		page, err := w.Client.Schedules(w.T.Context(), "", client.Page{Size: 2})
		w.must(err)
		rest, err := w.Client.Schedules(w.T.Context(), "", client.Page{Size: 2, Cursor: page.Cursor})
		w.must(err)
		if len(page.Items) != 2 || len(rest.Items) != 1 || rest.Items[0].ID != "s" || page.Items[0].ID != "b" {
			t.Errorf("%+v\n%+v", page, rest)
		}
		w.must(s.Delete(w.T.Context()))
		if err := s.Delete(w.T.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a second time: %v", err)
		}
		if _, err := s.Describe(w.T.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%v", err)
		}
		w.pass(5 * time.Minute)
		w.wantBegan("")
		if list, err := w.Client.List(w.T.Context(), client.Filter{IDPrefix: "perdure/schedule/s"}, client.Page{}); err != nil || len(list.Items) > 0 {
			t.Errorf("left behind: %+v, %v", list, err)
		}
		w.create(every(time.Minute), job{})
		w.pass(6 * time.Minute)
		w.wantBegan("00:06:00")
	})
}

func TestWithoutNode(t *testing.T) {
	scheduled(t, func(w *world) {
		w.Stop(w.rt)
		s, err := client.CreateScheduleNamed(w.T.Context(), w.other(), "s", every(time.Hour), "Job", job{})
		w.must(err)
		d := w.describe(s)
		if !d.NoNode || len(d.Findings) != 2 || d.Revision != 0 {
			t.Errorf("%+v", d)
		}
		if err := s.Pause(w.T.Context(), ""); !errors.Is(err, client.ErrNoNode) {
			t.Errorf("%v", err)
		}
	})
}
