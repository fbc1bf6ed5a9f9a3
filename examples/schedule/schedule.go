// Package schedule starts a report every night and a clean-up every quarter of an hour.
package schedule

import (
	"context"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Wish is the input of reports.
type Wish struct {
	Kind string `json:"kind"`
}

// Report makes the report of the night for which it was started, also if it begins late.
func Report(ctx *orchestration.Context, w Wish) (string, error) {
	night := ctx.Info().Scheduled.Due
	return w.Kind + " report of " + night.Format(time.DateOnly), nil
}

// Compare makes the report and shows which one it follows.
func Compare(ctx *orchestration.Context, w Wish) (string, error) {
	var last string
	if err := ctx.Info().Previous.Decode(&last); err != nil {
		last = "no report" // the first run, or the one before has failed
	}
	ctx.SetStatus("after " + last)
	return Report(ctx, w)
}

// CleanUp deletes what is old.
func CleanUp(*orchestration.Context, orchestration.None) (orchestration.None, error) {
	return orchestration.None{}, nil
}

// Declare brings the schedules of the service up to date. The service calls it when it starts.
func Declare(ctx context.Context, c *client.Client) error {
	_, err := client.EnsureSchedule(ctx, c, "nightly-report", client.ScheduleSpec{
		Crons:              []string{"30 2 * * *"},
		Zone:               "Europe/Berlin",
		PauseAfterFailures: 3,
	}, Report, Wish{Kind: "full"})
	if err != nil {
		return err
	}
	_, err = client.EnsureSchedule(ctx, c, "clean-up", client.ScheduleSpec{
		Every:   []client.ScheduleInterval{{Every: 15 * time.Minute}},
		Except:  []string{"* 2 * * *"}, // not while the report is made
		Jitter:  time.Minute,
		CatchUp: client.NoCatchUp(),
	}, CleanUp, orchestration.None{})
	return err
}
