package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

const firstRun = "s/2000-01-01T00:01:00Z"

// The next tick starts after each way to end a run. A run that has not ended holds it up.
func TestHazard64_EveryEndFreesTheNextTick(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, run client.Handle[string]){
		"continues as new": func(w *world, run client.Handle[string]) {
			w.must(run.Raise(w.T.Context(), "go", 1))
			w.must(run.Raise(w.T.Context(), "go", 1))
		},
		"is terminated": func(w *world, run client.Handle[string]) { w.must(run.Terminate(w.T.Context(), "")) },
		"is cancelled":  func(w *world, run client.Handle[string]) { w.must(run.Cancel(w.T.Context(), "")) },
		"is deleted": func(w *world, run client.Handle[string]) {
			_, err := w.Store.Delete(w.T.Context(), provider.DeleteRequest{Key: run.Key(), Force: true})
			w.must(err)
		},
		"is reset and ends": func(w *world, run client.Handle[string]) {
			w.reset(run)
			w.must(run.Raise(w.T.Context(), "go", 1))
			w.must(run.Raise(w.T.Context(), "go", 1))
		},
		"is reset, then terminated": func(w *world, run client.Handle[string]) {
			w.reset(run)
			w.must(run.Terminate(w.T.Context(), ""))
		},
		"is replaced": func(w *world, run client.Handle[string]) {
			w.must(run.Terminate(w.T.Context(), ""))
			_, err := client.StartNamed[string](w.T.Context(), w.Client, "Job", job{Hold: "own"}, client.WithID(run.ID()), client.WithIDPolicy(client.ReplaceEnded))
			w.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			scheduled(t, func(w *world) {
				w.create(every(time.Minute), job{Hold: "x", Again: true})
				w.pass(2*time.Minute + 30*time.Second)
				w.wantBegan("00:01:00")
				run, err := client.Lookup[string](w.T.Context(), w.Client, firstRun)
				w.must(err)
				end(w, run)
				w.pass(3*time.Minute + time.Second)
				w.wantBegan("00:01:00 00:03:00")
			})
		})
	}
}

// reset takes a run back to its first event.
func (w *world) reset(run client.Handle[string]) {
	w.T.Helper()
	_, err := client.Reset(w.T.Context(), run, 1)
	w.must(err)
}

// A run that continues as new or is reset goes on, and holds its tick up.
func TestHazard64_RunThatGoesOnHoldsTheTick(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Minute), job{Hold: "x", Again: true})
		w.pass(time.Minute + 30*time.Second)
		run, err := client.Lookup[string](w.T.Context(), w.Client, firstRun)
		w.must(err)
		w.must(run.Raise(w.T.Context(), "go", 1))
		w.pass(2*time.Minute + time.Second)
		w.reset(run)
		w.pass(3*time.Minute + time.Second)
		w.wantBegan("00:01:00")
		if d := w.describe(s); d.Skips["running"] != 2 || d.Runs != 1 {
			t.Errorf("%+v", d)
		}
	})
}

// The schedule carries its runs over continue-as-new: they hold ticks up until they end, and their ends are heard then.
func TestHazard64_RunsAreCarriedOver(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(time.Minute), job{Hold: "x"})
		w.pass(time.Minute + time.Second)
		for range 100 {
			w.must(s.Resume(w.T.Context(), ""))
		}
		if d, err := w.Client.Describe(w.T.Context(), reserved.SchedulePrefix+"s"); err != nil || d.Execution < 2 || d.CodeVersion != "1" {
			t.Fatalf("%+v, %v", d, err)
		}
		w.pass(2*time.Minute + time.Second)
		w.wantBegan("00:01:00")
		if d := w.describe(s); d.Skips["running"] != 1 || d.Runs != 1 {
			t.Errorf("%+v", d)
		}
		w.finish("00:01:00")
		w.pass(3*time.Minute + time.Second)
		w.wantBegan("00:01:00 00:03:00")
	})
}

// A schedule that is never told of an end, as from a release before, looks for itself.
func TestHazard64_SilenceIsNoProofOfLife(t *testing.T) {
	scheduled(t, func(w *world) {
		h, err := client.StartNamed[string](w.T.Context(), w.Client, "Job", job{Hold: "x"}, client.WithID("old"))
		w.must(err)
		old := w.crafted(form.State{Running: []form.Run{{ID: "old", Key: h.Key().String()}, {ID: "s/gone", Key: enginetest.NewID().String()}}})
		w.pass(time.Minute + time.Second)
		if d := w.describe(old); d.Skips["running"] != 1 || d.Runs != 1 {
			t.Errorf("%+v", d)
		}
		w.must(h.Raise(w.T.Context(), "go", 1))
		w.pass(2*time.Minute + time.Second)
		w.wantBegan("old 00:02:00")
	})
}

// crafted stores the schedule "s", due every minute unless the state says otherwise, as no client does.
func (w *world) crafted(st form.State) client.Schedule {
	w.T.Helper()
	if st.ID, st.Revision = "s", 1; len(st.Spec.Every) == 0 {
		st.Spec.Every = []form.Interval{{Every: form.Duration(time.Minute)}}
	}
	st.Action = form.Action{Orchestration: "Job", Newest: true, Input: []byte(`{}`)}
	id := reserved.SchedulePrefix + "s"
	started := &history.ExecutionStarted{
		Name: reserved.Schedule, CodeVersion: "1", Input: w.encode(st), Settings: replay.SettingsAt(replay.EngineLevel),
	}
	_, err := w.Store.Create(w.T.Context(), provider.CreateRequest{
		ID: id, Key: provider.NewKey(id), Commit: enginetest.NewID(), Name: reserved.Schedule, CodeVersion: "1", EngineLevel: replay.LevelOf(started),
		Message: provider.NewMessage{Kind: provider.MessageKind(started.Kind()), Payload: history.Encode(nil, history.Event{Body: started})},
	})
	w.must(err)
	return w.Client.Schedule("s")
}

// A schedule that is made again is another one: it neither takes runs of its predecessor for its own nor starts due times before it existed.
func TestHazard65_ScheduleMadeAgain(t *testing.T) {
	scheduled(t, func(w *world) {
		s := w.create(every(10*time.Minute), job{Hold: "x"})
		w.pass(10*time.Minute + 30*time.Second)
		w.must(s.Delete(w.T.Context()))
		again := w.create(every(10*time.Minute), job{})
		w.pass(20*time.Minute + time.Second)
		w.wantBegan("00:10:00 00:20:00")
		w.finish("00:10:00") // which nobody is told of any more
		w.pass(30*time.Minute + time.Second)
		w.wantBegan("00:10:00 00:20:00 00:30:00")
		if d := w.describe(again); d.Started != 2 || len(d.Skips) > 0 {
			t.Errorf("%+v", d)
		}
	})
}

func TestHazard65_IDInUseIsASkip(t *testing.T) {
	scheduled(t, func(w *world) {
		_, err := client.StartNamed[string](w.T.Context(), w.Client, "Other", job{}, client.WithID(firstRun))
		w.must(err)
		s := w.create(every(time.Minute), job{})
		w.pass(time.Minute + time.Second)
		d := w.describe(s)
		if d.Started != 0 || d.Skips["id-in-use"] != 1 || d.Skipped[0].Detail != firstRun {
			t.Errorf("%+v", d)
		}
		// Nobody can pretend to be the schedule.
		_, err = client.StartNamed[string](w.T.Context(), w.Client, "Job", job{}, client.WithID("s/2000-01-01T00:02:00Z"),
			client.WithRequestID(reserved.RunRequest(d.Key.String(), begin.Add(2*time.Minute), "")))
		if !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%v", err)
		}
	})
}

func TestHazard65_TriggersOfOneSecond(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := every(time.Hour)
		spec.Overlap = client.OverlapAllowAll
		s := w.create(spec, job{})
		first, err := s.Trigger(w.T.Context())
		w.must(err)
		second, err := s.Trigger(w.T.Context())
		w.must(err)
		if first.Run == nil || second.Run == nil || first.Run.ID == second.Run.ID || !first.Due.Equal(second.Due) {
			t.Errorf("%+v\n%+v", first, second)
		}
		w.wantBegan("00:00:00+ 00:00:00+")
	})
}

// Principals keep their rights and no more: what a viewer may not do, its schedule does not do either.
func TestHazard67_ScheduleActsForItsPrincipal(t *testing.T) {
	scheduled(t, func(w *world) {
		viewer, err := w.Client.As(client.Principal{Name: "vic", Role: client.RoleViewer})
		w.must(err)
		if _, err := client.CreateScheduleNamed(w.T.Context(), viewer, "v", every(time.Minute), "Job", job{}); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("%v", err)
		}
		s := w.crafted(form.State{Principal: &form.Principal{Name: "vic", Role: "viewer"}})
		w.pass(time.Minute + time.Second)
		d := w.describe(s)
		if d.Started != 0 || d.Skips["forbidden"] != 1 || len(d.Findings) != 1 || !strings.Contains(d.Findings[0], "vic") {
			t.Errorf("%+v", d)
		}
		operator, err := w.Client.As(client.Principal{Name: "ann", Role: client.RoleOperator})
		w.must(err)
		mine, err := client.CreateScheduleNamed(w.T.Context(), operator, "a", every(time.Minute), "Job", job{})
		w.must(err)
		w.pass(time.Minute + 2*time.Second)
		w.must(operator.Schedule("a").Pause(w.T.Context(), "lunch"))
		w.pass(time.Minute + 3*time.Second)
		w.must(operator.Schedule("a").Delete(w.T.Context()))
		if mine.ID() != "a" {
			t.Error(mine.ID())
		}
		page, err := operate.New(w.Client).Audit(w.T.Context(), operate.AuditFilter{Act: client.ActSchedule, Principal: "ann"}, client.Page{})
		w.must(err)
		if len(page.Items) != 3 || page.Items[0].Outcome != "done" || page.Items[1].Detail != "pause: lunch" || page.Items[1].Other != `schedule "a"` {
			t.Errorf("%+v", page.Items)
		}
	})
}

func TestHazard67_SchedulesHaveTheirOwnCorner(t *testing.T) {
	scheduled(t, func(w *world) {
		// An instance of that name does not stand in the way.
		_, err := client.StartNamed[string](w.T.Context(), w.Client, "Job", job{Hold: "x"}, client.WithID("schedule/s"))
		w.must(err)
		s := w.create(every(time.Minute), job{})
		if err := w.Client.Terminate(w.T.Context(), reserved.SchedulePrefix+"s", ""); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%v", err)
		}
		for _, name := range []string{reserved.Schedule, "perdure.bulk"} {
			_, err := client.CreateScheduleNamed(w.T.Context(), w.Client, "x", every(time.Minute), name, job{})
			if !errors.Is(err, client.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := client.CreateScheduleNamed(w.T.Context(), w.Client, "perdure/x", every(time.Minute), "Job", job{}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%v", err)
		}
		w.must(s.Delete(w.T.Context()))
		if d, err := w.Client.Describe(w.T.Context(), "schedule/s"); err != nil || d.Status != client.StatusRunning {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// ahead is a clock that is an hour fast.
type ahead struct{}

func (ahead) Now() time.Time { return time.Now().Add(time.Hour) }

func (ahead) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

func TestHazard81_StoreTimeAheadIsAFinding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := enginetest.On(t, memory.New(memory.Options{Clock: ahead{}}), runtime.Options{})
		e.Virtual = true
		w := newWorld(e)
		s := w.create(every(time.Minute), job{})
		w.pass(time.Minute + time.Second)
		w.wantBegan("01:01:00")
		d := w.describe(s)
		if len(d.Findings) != 1 || !strings.Contains(d.Findings[0], "1h0m0s ahead") {
			t.Errorf("%+v", d)
		}
	})
}
