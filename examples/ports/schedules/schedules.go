// Package schedules copies what has changed in a shop every hour. client.EnsureSchedule declares the schedule, and a run learns its due
// time from Info.Scheduled. Operators call Pause, Resume and Trigger of client.Schedule.
package schedules

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// Span is what one run copies: all that has changed in a shop up to a time.
type Span struct {
	Shop string
	Till time.Time
}

// Sync copies up to its due time, also if it begins late.
func Sync(ctx *orchestration.Context, shop string) (orchestration.None, error) {
	span := Span{Shop: shop, Till: ctx.Info().Scheduled.Due}
	return orchestration.CallActivity(ctx, Copy, span, orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// Declare brings the schedule up to date. A service calls it at each start.
func Declare(ctx context.Context, c *client.Client, shop string) (client.Schedule, error) {
	return client.EnsureSchedule(ctx, c, "sync/"+shop, client.ScheduleSpec{
		Crons:              []string{"0 6-20 * * MON-FRI"},
		Zone:               "Europe/Berlin",
		Overlap:            client.OverlapBufferOne, // a run that takes longer than an hour delays the next one
		CatchUp:            client.CatchUp{Window: 2 * time.Hour},
		PauseAfterFailures: 3,
	}, Sync, shop)
}

// Maintain pauses the schedule while do runs, and makes a run at once afterwards.
func Maintain(ctx context.Context, s client.Schedule, do func(context.Context) error) error {
	if err := s.Pause(ctx, "maintenance"); err != nil {
		return err
	}
	if err := errors.Join(do(ctx), s.Resume(ctx, "maintenance is over")); err != nil {
		return err
	}
	_, err := s.Trigger(ctx)
	return err
}

// Copy stands for the work.
func Copy(ctx context.Context, s Span) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "copy", "shop", s.Shop, "till", s.Till)
	return activity.None{}, nil
}
