package schedules_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/schedules"
	"github.com/perdure/perdure/orchestrationtest"
)

// In a test it is Saturday, 1 January 2000. Germany is an hour ahead of UTC.
func TestRunsOfAWeek(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, schedules.Sync)
		copies := orchestrationtest.Replace(e, schedules.Copy, nil)
		schedule, err := schedules.Declare(e.Context(), e.Client(), "books")
		if err != nil {
			t.Fatal(err)
		}
		e.Sleep(7 * 24 * time.Hour)
		calls := copies.Calls()
		if len(calls) != 5*15 {
			t.Fatalf("%d runs, want one an hour from 6 to 20 o'clock, Monday to Friday", len(calls))
		}
		if first := time.Date(2000, 1, 3, 5, 0, 0, 0, time.UTC); calls[0].In != (schedules.Span{Shop: "books", Till: first}) {
			t.Errorf("the first run copies %+v", calls[0].In)
		}
		err = schedules.Maintain(e.Context(), schedule, func(context.Context) error {
			e.Sleep(4 * 24 * time.Hour) // until Wednesday
			return nil
		})
		e.Sleep(time.Minute)
		if n := len(copies.Calls()); n != 5*15+1 || err != nil {
			t.Errorf("%d runs after the maintenance, %v, want one more", n, err)
		}
	})
}

// A run that takes 90 minutes delays the next one, which still copies up to its own due time.
func TestLateRun(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, schedules.Sync)
		copies := orchestrationtest.Replace(e, schedules.Copy, nil, orchestrationtest.Delay(90*time.Minute))
		if _, err := schedules.Declare(e.Context(), e.Client(), "books"); err != nil {
			t.Fatal(err)
		}
		monday := time.Date(2000, 1, 3, 5, 0, 0, 0, time.UTC) // 6 o'clock in Germany
		e.Sleep(time.Until(monday.Add(2 * time.Hour)))
		calls := copies.Calls()
		if len(calls) != 2 || calls[1].At.Sub(monday) != 90*time.Minute || calls[1].In.Till.Sub(monday) != time.Hour {
			t.Errorf("copies %+v", calls)
		}
	})
}
