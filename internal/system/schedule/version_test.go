package schedule_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/reserved"
	form "github.com/perdure/perdure/internal/schedule"
	"github.com/perdure/perdure/internal/system"
	"github.com/perdure/perdure/internal/system/schedule"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// nextRelease starts a node that has version 2 of schedules, too. newest is the version that its schedules may continue in.
func (w *world) nextRelease(newest string) *runtime.Runtime {
	w.T.Helper()
	ctx := system.With(w.T.Context(), func(code *system.Code, c *client.Client) error {
		v1, next := schedule.V1(), schedule.Activities{Client: c, Newest: newest}
		v2 := func(ctx *orchestration.Context, st form.State) (orchestration.None, error) {
			st.Note = "version 2"
			return v1(ctx, st)
		}
		code.Orchestrations[provider.Capability{Name: reserved.Schedule, CodeVersion: "2"}] = bind.Orchestration(v2)
		code.Activities[reserved.NamePrefix+schedule.CheckName] = bind.Activity(next.Check)
		return nil
	})
	rt, err := runtime.Start(ctx, w.Store, w.registry(), runtime.Options{Logger: quiet()})
	w.must(err)
	w.T.Cleanup(func() { w.Stop(rt) })
	return rt
}

// renew makes the schedule continue as new, and returns the version that it has then.
func (w *world) renew(s client.Schedule) (version string) {
	w.T.Helper()
	before, err := w.Client.Describe(w.T.Context(), reserved.SchedulePrefix+s.ID())
	w.must(err)
	for range 110 {
		w.must(s.Resume(w.T.Context(), "note"))
	}
	after, err := w.Client.Describe(w.T.Context(), reserved.SchedulePrefix+s.ID())
	w.must(err)
	if after.Execution == before.Execution {
		w.T.Fatalf("it has not continued as new: %+v", after)
	}
	return after.CodeVersion
}

// Schedules of this release run on the next one and back, beside nodes of both, as long as the store's level is not raised. Then they move on.
func TestHazard66_SchedulesSurviveUpgradeAndRollBack(t *testing.T) {
	scheduled(t, func(w *world) {
		w.Client = w.other()
		s := w.create(every(time.Minute), job{})
		w.pass(time.Minute + time.Second)
		for i, next := range []func() *runtime.Runtime{
			func() *runtime.Runtime { return w.nextRelease("1") },
			func() *runtime.Runtime { return w.Start(w.registry()) },
			func() *runtime.Runtime { return w.nextRelease("1") },
		} {
			rt := next() // beside the one before
			if version := w.renew(s); version != "1" {
				t.Fatalf("step %d: version %q", i, version)
			}
			w.Stop(w.rt)
			w.rt = rt
			if version := w.renew(s); version != "1" {
				t.Fatalf("step %d: version %q", i, version)
			}
			w.pass(time.Duration(i+2)*time.Minute + time.Second)
		}
		w.wantBegan("00:01:00 00:02:00 00:03:00 00:04:00")
		w.Stop(w.rt)
		w.rt = w.nextRelease("2")
		if version := w.renew(s); version != "2" {
			t.Fatalf("the level is raised: version %q", version)
		}
		w.pass(5*time.Minute + time.Second)
		w.wantBegan("00:01:00 00:02:00 00:03:00 00:04:00 00:05:00")
	})
}
