package dispatcher_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// The longest duration there is means no limit that anybody lives to see; it neither passes at once nor blocks the instance.
func TestLongestTimeouts(t *testing.T) {
	t.Parallel()
	const longest = time.Duration(math.MaxInt64)
	for name, opt := range map[string]orchestration.ActivityOption{
		"start-to-close":    orchestration.WithStartToCloseTimeout(longest),
		"schedule-to-start": orchestration.WithScheduleToStartTimeout(longest),
		"schedule-to-close": orchestration.WithScheduleToCloseTimeout(longest),
		"heartbeat":         orchestration.WithHeartbeatTimeout(longest),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				reg := single(e, func(ctx context.Context, n int) (int, error) { return n, context.Cause(ctx) }, opt)
				e.Start(reg)
				key := e.Create("one", "single", 7)
				if i := e.EndedOrBlocked(key); i.Blocked != nil {
					t.Fatalf("blocked: %+v", i.Blocked)
				}
				if got := enginetest.Output[int](e, key); got != 7 {
					t.Errorf("output %d", got)
				}
			})
		})
	}
}
