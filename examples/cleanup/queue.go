package cleanup

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Queue waits in line until it is cancelled.
func (h *Hotel) Queue(ctx context.Context, what string) (string, error) {
	h.Log("queue for " + what)
	<-ctx.Done()
	cause := context.Cause(ctx)
	if errors.Is(cause, activity.ErrCancelled) {
		return "left the queue for " + what, nil // the caller that cancelled may want to know
	}
	return "", cause // for example a shutdown: another attempt follows
}

// Patience cancels a Queue after 50 ms and waits until it has left the line.
func Patience(ctx *orchestration.Context, what string) (string, error) {
	var hotel *Hotel
	limited, cancel := ctx.WithTimeout(50 * time.Millisecond)
	defer cancel()
	return orchestration.CallActivity(limited, hotel.Queue, what,
		orchestration.WithCancellation(orchestration.WaitForEnd))
}
