package cleanup

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Queue stands in line until it is told to stop.
func (h *Hotel) Queue(ctx context.Context, what string) (string, error) {
	h.Log("queue for " + what)
	<-ctx.Done()
	cause := context.Cause(ctx)
	if errors.Is(cause, activity.ErrCancelled) {
		return "left the queue for " + what, nil // who gave it up may want to know
	}
	return "", cause // a shutdown, say: another attempt follows
}

// Patience lets someone queue for 50 ms and waits until they have left.
func Patience(ctx *orchestration.Context, what string) (string, error) {
	var hotel *Hotel
	limited, cancel := ctx.WithTimeout(50 * time.Millisecond)
	defer cancel()
	return orchestration.CallActivity(limited, hotel.Queue, what,
		orchestration.WithCancellation(orchestration.WaitForEnd))
}
