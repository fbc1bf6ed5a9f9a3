package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Backup is an orchestration that ends when it is told to.
func Backup(ctx *orchestration.Context, wait bool) (string, error) {
	if !wait {
		return "saved", nil
	}
	return orchestration.Events[string](ctx, "go").Receive(ctx)
}

// scheduling starts a node that runs Backup on a new database.
func scheduling(t *testing.T, name string) *operated {
	t.Helper()
	db, err := databaseOf(name)
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := newLogger(io.Discard, "error")
	if err != nil {
		t.Fatal(err)
	}
	store, err := db.create(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Backup); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet, Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(rt.Shutdown(context.WithoutCancel(t.Context())), store.Close()); err != nil {
			t.Error(err)
		}
	})
	c, err := rt.Client(client.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	o := &operated{t: t, db: name, rt: rt, c: c}
	// The level of a new store is raised when the first node has registered.
	for {
		_, err := client.CreateScheduleNamed(t.Context(), c, "probe", client.ScheduleSpec{Crons: []string{"@yearly"}}, "Backup", false)
		if err == nil {
			break
		}
		if !errors.Is(err, client.ErrNotFinished) {
			t.Fatal(err)
		}
	}
	if err := c.Schedule("probe").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o
}

// described waits until a schedule is as wanted.
func (o *operated) described(id string, wanted func(d *client.ScheduleDescription) bool) client.ScheduleDescription {
	o.t.Helper()
	for limit := time.Now().Add(time.Minute); ; {
		d, err := o.c.Schedule(id).Describe(o.t.Context())
		if err != nil {
			o.t.Fatal(err)
		}
		if wanted(&d) {
			return d
		}
		if time.Now().After(limit) {
			o.t.Fatalf("not as wanted: %+v", d)
		}
	}
}

func checkSchedules(t *testing.T, db string) {
	t.Helper()
	o := scheduling(t, db)
	known := func(d *client.ScheduleDescription) bool { return d.Revision > 0 }
	o.refuse(exitUsage, "schedule create nightly Backup", "it names no time")
	o.refuse(exitUsage, "schedule create nightly Backup --cron 30", "it has 1 fields")
	o.refuse(exitUsage, "schedule create nightly Backup --every often", "--every is")
	o.refuse(exitUsage, "schedule create nightly Backup --cron @daily --overlap twice", "skip, buffer-one")
	o.refuse(exitUsage, "schedule create nightly Backup --cron @daily --note x", "--note without --paused")
	o.refuse(exitUsage, "schedule create nightly perdure.bulk --cron @daily", "perdure itself")
	o.refuse(exitNotFound, "schedule show nightly", `schedule "nightly"`, "never existed")
	o.refuse(exitNotFound, "schedule pause nightly", "never existed")
	o.check("schedule-list-empty", "schedule list")
	o.check("schedule-create", "schedule create nightly Backup --cron 30_2_1_1_* --zone Europe/Berlin --input true --jitter 5m --pause-after-failures 3")
	o.check("schedule-create-json", "schedule create poll Backup --every 9000h+30s --overlap buffer-one --paused --note later -o json")
	o.described("nightly", known)
	o.described("poll", known)
	o.refuse(exitConflict, "schedule create nightly Backup --cron @daily", "already exists")
	o.check("schedule-list", "schedule list")
	o.check("schedule-list-jsonl", "schedule list --prefix poll -o jsonl")
	o.check("schedule-trigger", "schedule trigger nightly")
	o.check("schedule-trigger-again-json", "schedule trigger nightly -o json")
	o.check("schedule-show", "schedule show nightly")
	o.check("schedule-show-json", "schedule show nightly -o json")
	o.refuse(exitUsage, "schedule update nightly", "give a flag")
	o.check("schedule-update", "schedule update nightly --cron 0_3_1_1_* --zone= --except *_*_*_*_SUN")
	o.check("schedule-resume", "schedule resume poll --note now")
	o.check("schedule-pause-json", "schedule pause poll --note enough -o json")
	o.refuse(exitUsage, "schedule backfill poll yesterday 2026-01-01T00:00:00Z", "argument FROM")
	o.refuse(exitUsage, "schedule backfill poll 2026-01-02T00:00:00Z 2026-01-01T00:00:00Z", "swap them")
	o.check("schedule-backfill", "schedule backfill poll 2020-01-01T00:00:00Z 2026-01-01T00:00:00Z")
	o.described("poll", func(d *client.ScheduleDescription) bool { return d.Backfills == 0 && d.Started == 6 && d.Runs == 0 })
	o.check("schedule-show-done", "schedule show poll")
	o.check("schedule-next", "schedule next --cron 30_1_*_*_* --zone Europe/London --after 2026-03-28T00:00:00Z --count 3")
	o.check("schedule-next-json", "schedule next poll --after 2026-03-07T00:00:00Z --count 2 -o json")
	o.refuse(exitUsage, "schedule next --cron @daily --count 0", "give 1 to 1000")
	o.check("schedule-update-beside", "schedule update nightly --every 9000h") // the cron stays, which it must not hide
	for _, line := range []string{"schedule pause", "schedule next", "schedule backfill"} {
		if got := completed(t, append(strings.Fields(line), "--db", o.db, "ni")...); !slices.Equal(got, []string{"nightly"}) {
			t.Errorf("%s: schedules are completed to %q", line, got)
		}
	}
	o.refuse(exitUsage, "schedule delete nightly", "--yes")
	o.check("schedule-delete", "schedule delete nightly --yes")
	o.refuse(exitNotFound, "schedule show nightly", "never existed")
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	checkSchedules(t, t.TempDir()+"/schedules.db")
}

func TestSchedulesOnServer(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	checkSchedules(t, url+"&schema="+postgrestest.Schema(t, url))
}

// A run that holds up three due times is a finding of doctor.
func TestDoctorFindsStuckSchedules(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	o := scheduling(t, t.TempDir()+"/stuck.db")
	spec := client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Second}}}
	if _, err := client.CreateScheduleNamed(t.Context(), o.c, "fast", spec, "Backup", true); err != nil {
		t.Fatal(err)
	}
	d := o.described("fast", func(d *client.ScheduleDescription) bool { return len(d.Findings) > 0 })
	code, stdout, stderr := perdure(t, "", "doctor", "--db", o.db)
	if code != exitFailure || !strings.Contains(stdout, "has held up") || !strings.Contains(stdout, "perdure/schedule/fast") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if err := errors.Join(o.c.Schedule("fast").Delete(t.Context()), o.c.Raise(t.Context(), d.Running[0].ID, "go", "done")); err != nil {
		t.Fatal(err)
	}
}
