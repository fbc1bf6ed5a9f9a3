package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/examples/heartbeat"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// imports runs an orchestration whose first attempt fails in row 2. It returns how long that took.
func imports(t *testing.T, fn func(*orchestration.Context, int) (int, error), fail func(ctx context.Context) error) (took time.Duration) {
	t.Helper()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		began := time.Now()
		var read []string
		importer := &heartbeat.Importer{Row: func(ctx context.Context, n int) error {
			attempt := activity.GetInfo(ctx).Attempt
			read = append(read, fmt.Sprintf("attempt %d row %d", attempt, n))
			if attempt == 1 && n == 2 {
				return fail(ctx)
			}
			return nil
		}}
		orchestrationtest.AddActivity(e, importer.Import)
		if out, err := orchestrationtest.Start(e, fn, 3).Wait(e.Context()); out != 3 || err != nil {
			t.Errorf("%d, %v", out, err)
		}
		if want := []string{"attempt 1 row 1", "attempt 1 row 2", "attempt 2 row 2", "attempt 2 row 3"}; !slices.Equal(read, want) {
			t.Errorf("%q, want %q", read, want)
		}
		took = time.Since(began)
	})
	return took
}

func TestNextAttemptResumes(t *testing.T) {
	imports(t, heartbeat.Nightly, func(context.Context) error { return heartbeat.ErrAway })
}

func TestSilentAttemptTimesOut(t *testing.T) {
	took := imports(t, heartbeat.Watched, func(ctx context.Context) error {
		<-ctx.Done() // the source does not respond
		if late, ok := errors.AsType[*activity.TimeoutError](context.Cause(ctx)); !ok || late.Kind != activity.NoHeartbeat {
			t.Errorf("the attempt has ended by %v", context.Cause(ctx))
		}
		return context.Cause(ctx)
	})
	if took < 3*time.Second || took > 4*time.Second {
		t.Errorf("it took %v, want the heartbeat timeout and a retry", took)
	}
}
