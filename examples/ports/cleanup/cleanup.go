// Package cleanup cleans up after work that was cancelled. The activity learns of the cancellation by its context and by
// activity.Heartbeat, and orchestration.WaitForEnd waits for its end. Context.Detached is a scope in which new work may begin then.
package cleanup

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Render makes a film, and removes the temporary files if it fails or is cancelled.
func Render(ctx *orchestration.Context, film string) (string, error) {
	file, err := orchestration.CallActivity(ctx, Draw, film,
		orchestration.WithHeartbeatTimeout(time.Minute),
		orchestration.WithCancellation(orchestration.WaitForEnd))
	if err != nil {
		_, cleaned := orchestration.CallActivity(ctx.Detached(), Remove, film, orchestration.WithRetry(orchestration.RetryPolicy{}))
		return "", errors.Join(err, cleaned)
	}
	return file, nil
}

// Draw draws 24 hours of film, a second at a time.
func Draw(ctx context.Context, film string) (string, error) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for drawn := range 24 * 60 * 60 {
		select {
		case <-second.C: // stands for the work
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if err := activity.Heartbeat(ctx, drawn); err != nil {
			return "", err
		}
	}
	return film + ".mp4", nil
}

// Remove removes the temporary files of a film.
func Remove(ctx context.Context, film string) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "remove", "film", film)
	return activity.None{}, nil
}
