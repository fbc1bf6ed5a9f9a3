package schedule_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/schedule"
	"github.com/perdure/perdure/orchestrationtest"
)

// declare declares the schedules. Nodes run what they start.
func declare(t *testing.T, e *orchestrationtest.Env) *client.Client {
	t.Helper()
	orchestrationtest.AddOrchestration(e, schedule.Report)
	orchestrationtest.AddOrchestration(e, schedule.CleanUp)
	if err := schedule.Declare(e.Context(), e.Client()); err != nil {
		t.Fatal(err)
	}
	return e.Client()
}

// Two days of schedules pass in milliseconds.
func TestReportsOfTwoNights(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		c := declare(t, e)
		if err := schedule.Declare(e.Context(), c); err != nil { // a second start of the service changes nothing
			t.Fatal(err)
		}
		e.Sleep(48*time.Hour + 2*time.Minute)
		for i, day := range []string{"2000-01-01", "2000-01-02"} {
			report, err := client.Lookup[string](e.Context(), c, "nightly-report/"+day+"T01:30:00Z")
			if err != nil {
				t.Fatal(err)
			}
			if out, err := report.Wait(e.Context()); err != nil || out != "full report of "+day {
				t.Errorf("night %d: %q, %v", i, out, err)
			}
		}
		d, err := c.Schedule("clean-up").Describe(e.Context())
		if err != nil || d.Started != 2*23*4 || d.Revision != 1 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// operate shows what operators do.
func operate(ctx context.Context, c *client.Client) error {
	nightly := c.Schedule("nightly-report")
	if err := nightly.Pause(ctx, "the database moves"); err != nil {
		return err
	}
	if err := nightly.Resume(ctx, "moved"); err != nil {
		return err
	}
	started, err := nightly.Trigger(ctx)
	if err != nil {
		return err
	}
	fmt.Println(started.Run.ID)
	// The reports of two nights that were lost elsewhere.
	lost := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := nightly.Backfill(ctx, lost, lost.AddDate(0, 0, 2)); err != nil {
		return err
	}
	return nightly.Update(ctx, func(spec *client.ScheduleSpec) error {
		spec.Crons = []string{"0 3 * * *"}
		return nil
	})
}

func TestOperate(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		c := declare(t, e)
		e.Sleep(2 * 24 * time.Hour)
		if err := operate(e.Context(), c); err != nil {
			t.Fatal(err)
		}
		e.Sleep(0)
		if d, err := c.Schedule("nightly-report").Describe(e.Context()); err != nil || d.Started != 2+1+2 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

func Example() {
	after := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	next, err := client.NextTimes(client.ScheduleSpec{Crons: []string{"30 2 * * *"}, Zone: "Europe/Berlin"}, after, 2)
	fmt.Println(next, err) // 02:30 does not exist on the 29th
	// Output: [2026-03-29 01:00:00 +0000 UTC 2026-03-30 00:30:00 +0000 UTC] <nil>
}

// A run knows how the run before it has ended.
func TestRunsKnowTheRunBefore(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, schedule.Compare)
		spec := client.ScheduleSpec{Crons: []string{"0 2 * * *"}}
		if _, err := client.CreateSchedule(e.Context(), e.Client(), "compare", spec, schedule.Compare, schedule.Wish{Kind: "full"}); err != nil {
			t.Fatal(err)
		}
		e.Sleep(48 * time.Hour)
		for day, want := range map[string]string{"2000-01-01": "after no report", "2000-01-02": "after full report of 2000-01-01"} {
			run, err := client.Lookup[string](e.Context(), e.Client(), "compare/"+day+"T02:00:00Z")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := client.StatusOf[string](e.Context(), run); err != nil || got != want {
				t.Errorf("%s: %q, %v", day, got, err)
			}
		}
	})
}
