package churn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// The stored names of the activities.
const (
	mixName   = "Mix"
	haulName  = "Haul"
	breakName = "Break"
)

// logged names an activity and logs the start and the end of its body.
func logged(log Log, name string, body func(context.Context, Call) error) func(context.Context, Call) (Answer, error) {
	return activity.Define(name, func(ctx context.Context, c Call) (Answer, error) {
		info := activity.GetInfo(ctx)
		line := Line{Call: activity.IdempotencyKey(ctx), Attempt: info.Attempt, Delivery: info.Deliveries}
		if err := log.add(line, Began); err != nil {
			return Answer{}, err
		}
		err := body(ctx, c)
		what := Failed
		switch {
		case err == nil:
			what = Done // even if its lease ends at the same moment: the result counts unless another delivery began
		case ctx.Err() != nil:
			what = Stopped
		}
		return Answer{Value: value(c), Delivery: info.Deliveries}, errors.Join(err, log.add(line, what))
	})
}

func value(c Call) uint64 {
	return (c.Seed<<20 + uint64(c.Round)<<10 + uint64(c.Step)) * 2_654_435_761
}

// mix takes a moment and fails as often as its input says.
func mix(ctx context.Context, c Call) error {
	if err := pass(ctx, time.Duration(5+(c.Seed+uint64(c.Step))%30)*time.Millisecond); err != nil {
		return err
	}
	if attempt := activity.GetInfo(ctx).Attempt; attempt <= c.Failures {
		return fmt.Errorf("attempt %d of %+v fails on purpose", attempt, c)
	}
	return nil
}

// haulPart makes a haul longer than a lease.
const haulPart = 150 * time.Millisecond

// haul resumes after the part of its last heartbeat.
func haul(ctx context.Context, c Call) error {
	done, _, err := activity.HeartbeatDetails[int](ctx)
	if err != nil {
		return err
	}
	for done < c.Parts {
		if err := pass(ctx, haulPart); err != nil {
			return err
		}
		done++
		if err := activity.Heartbeat(ctx, done); err != nil {
			return err
		}
	}
	return nil
}

// fail fails without a retry.
func fail(context.Context, Call) error { return orchestration.NonRetryable(ErrBroken) }

// pass sleeps, or returns the cause of the activity's cancellation.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
