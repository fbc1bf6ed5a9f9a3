package doors_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/activity/activitytest"
)

func usingActivities() section {
	return section{
		title: "Functions for activities",
		intro: "`Heartbeat` keeps the last good details.",
		rows: func(t *testing.T, _ *world) []row {
			inside, attempt := activitytest.New(t.Context(), activitytest.Options{Details: "half"})
			t.Cleanup(func() {
				if beats := attempt.Heartbeats(); len(beats) > 0 {
					t.Errorf("the refused details %.20q were taken", beats)
				}
			})
			beat := func(details any) func(context.Context) error {
				return func(context.Context) error { return activity.Heartbeat(inside, details) }
			}
			return []row{
				{"`GetInfo` with a foreign context", func(ctx context.Context) error { activity.GetInfo(ctx); return nil }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "In tests of activity code use `activitytest.New`."},
				{"`GetInfo` with a nil context", func(ctx context.Context) error { activity.GetInfo(lost(ctx)); return nil }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "Pass the activity's context on."},
				{"`IdempotencyKey` with a foreign context", func(ctx context.Context) error { activity.IdempotencyKey(ctx); return nil }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "Derive contexts from the activity's."},
				{"`Logger` with a foreign context", func(ctx context.Context) error { activity.Logger(ctx); return nil }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "Derive contexts from the activity's."},
				{"`Heartbeat` with a foreign context", func(ctx context.Context) error { return activity.Heartbeat(ctx, 1) }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "Derive contexts from the activity's."},
				{"`OnInterrupt` with a foreign context", func(ctx context.Context) error { activity.OnInterrupt(ctx, func(int) {}); return nil }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "Derive contexts from the activity's."},
				{"`OnInterrupt` of nil", func(context.Context) error { activity.OnInterrupt(inside, nil); return nil }, panics, "activity: OnInterrupt was given a nil function: give one that makes the activity come back", "Close what the activity waits for."},
				{"`Token` with a foreign context", func(ctx context.Context) error { activity.Token(ctx); return nil }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "Derive contexts from the activity's."},
				{"`Defer` with a foreign context", func(ctx context.Context) error { activity.Defer[int](ctx); return nil }, panics, "activity: the context is not one that an activity was given: pass that, or one derived from it", "Derive contexts from the activity's."},
				{"`Token` in a test", func(context.Context) error { activity.Token(inside); return nil }, panics, "activity: this attempt was made by a test: it cannot be pending", "Test it on a node in memory."},
				{"a zero `Completer`", func(context.Context) error { return activity.Completer[int]{}.Complete(1) }, panics, "activity: this Completer belongs to no activity: take it with activity.Defer", "Take it before the function returns."},
				{"`Completer.Complete` with what cannot be encoded", func(context.Context) error { return activity.Completer[chan int]{}.Complete(nil) }, payloadError, "output: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write", "Nothing has ended: fail it, or give another value."},
				{"`Completer.Fail` with nil", func(context.Context) error { return activity.Completer[int]{}.Fail(nil) }, orcInvalid, "failing an activity: give the error", "Nothing has ended: to end it without an error complete it."},
				{"`Heartbeat` with details that cannot be encoded", beat(make(chan int)), payloadError, "heartbeat details: payload cannot be encoded: chan int: json: unsupported type: chan int: give what encoding/json can write", "Report data, not channels, functions or locks."},
				{"`Heartbeat` with details of 256 KiB and a byte", beat(strings.Repeat("x", 256<<10-1)), orcTooLarge, "heartbeat details: 262145 bytes, at most 262144 fit: store them elsewhere and report a reference", "Report a position, not the data."},
				{"`HeartbeatDetails` of another type", func(context.Context) error {
					_, _, err := activity.HeartbeatDetails[int](inside)
					return err
				}, payloadError, `heartbeat details of the last attempt: payload cannot be decoded into int, at byte 6 of "\"half\"": json: cannot unmarshal string into Go value of type int: ask for the type that it reported`, "If a new release changed the type, start over."},
			}
		},
	}
}
