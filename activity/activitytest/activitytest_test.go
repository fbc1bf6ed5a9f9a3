package activitytest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/activity/activitytest"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// count goes on where the last attempt was, and stops when it is interrupted.
func count(ctx context.Context, upTo int) (int, error) {
	interrupted := 0
	defer activity.OnInterrupt(ctx, func(number int) { interrupted = number })()
	from, _, err := activity.HeartbeatDetails[int](ctx)
	if err != nil {
		return 0, err
	}
	for n := from; n < upTo; n++ {
		if err := activity.Heartbeat(ctx, n); err != nil || interrupted > 0 {
			return n, err
		}
	}
	return upTo, nil
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	ctx, attempt := activitytest.New(t.Context(), activitytest.Options{
		Info: activity.Info{Activity: "count", Attempt: 2}, IdempotencyKey: "key", Details: 3,
	})
	if got, err := count(ctx, 5); got != 5 || err != nil {
		t.Errorf("count: %d, %v", got, err)
	}
	if beats := attempt.Heartbeats(); len(beats) != 2 || string(beats[0]) != "3" || string(beats[1]) != "4" {
		t.Errorf("heartbeats: %s", beats)
	}
	if info := activity.GetInfo(ctx); info.Activity != "count" || info.Attempt != 2 || activity.IdempotencyKey(ctx) != "key" {
		t.Errorf("%+v, %s", info, activity.IdempotencyKey(ctx))
	}
	all := activity.Info{
		Activity: "count", Queue: "q", InstanceID: "i", Execution: 2, EventID: 3, Attempt: 4, Deliveries: 5, Session: "s",
		HeartbeatTimeout: time.Second, CallDeadline: time.UnixMicro(7).UTC(), Started: time.UnixMicro(6).UTC(), Node: "n",
		Orchestration: "main", CodeVersion: "v", Header: header.Map{"k": "v"},
		Retry: &activity.RetryPolicy{MaxAttempts: 3, InitialInterval: time.Second, Coefficient: 1.5, Jitter: 0.1, NonRetryable: []string{"Fatal"}},
	}
	full, _ := activitytest.New(t.Context(), activitytest.Options{Info: all})
	if diff := cmp.Diff(all, activity.GetInfo(full)); diff != "" {
		t.Error(diff)
	}
	last := 0
	stop := activity.OnInterrupt(ctx, func(number int) { last = number })
	attempt.Interrupt(1)
	stop()
	attempt.Interrupt(2)
	if last != 1 {
		t.Errorf("the last interrupt was number %d", last)
	}
}
