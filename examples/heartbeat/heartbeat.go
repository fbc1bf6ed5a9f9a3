// Package heartbeat shows an activity that resumes where its last attempt stopped.
package heartbeat

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Importer imports rows one by one.
type Importer struct {
	Row func(ctx context.Context, n int) error
}

// Import starts after the last row that an earlier attempt reported.
func (i *Importer) Import(ctx context.Context, rows int) (int, error) {
	done, _, err := activity.HeartbeatDetails[int](ctx)
	if err != nil {
		return 0, err
	}
	for n := done + 1; n <= rows; n++ {
		if err := i.Row(ctx, n); err != nil {
			return 0, err
		}
		if err := activity.Heartbeat(ctx, n); err != nil {
			return 0, err // cancelled, timed out, or the node shuts down
		}
	}
	return rows, nil
}

// Nightly imports with retries.
func Nightly(ctx *orchestration.Context, rows int) (int, error) {
	var importer *Importer
	return orchestration.CallActivity(ctx, importer.Import, rows,
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond}))
}

// ErrAway is a temporary failure.
var ErrAway = errors.New("the source is unavailable")
