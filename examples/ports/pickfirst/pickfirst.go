// Package pickfirst asks several services for the same thing, takes the first answer and stops the others. orchestration.Race returns the
// future that settles first and cancels the rest. The activities learn of that by their context and by activity.Heartbeat.
package pickfirst

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Question is what one service is asked.
type Question struct{ Service, Text string }

// Ask returns the first answer and the service that gave it.
func Ask(ctx *orchestration.Context, text string) ([2]string, error) {
	services := []string{"north", "south", "east"}
	answers := make([]orchestration.Future[string], len(services))
	for i, service := range services {
		answers[i] = orchestration.StartActivity(ctx, Search, Question{Service: service, Text: text},
			orchestration.WithHeartbeatTimeout(time.Minute),
			orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 1}))
	}
	answer, first, err := orchestration.Race(ctx, answers...)
	if err != nil {
		return [2]string{}, err
	}
	return [2]string{services[first], answer}, nil
}

// Search stands for a search that takes a while. It stops when nobody needs it any more.
func Search(ctx context.Context, q Question) (string, error) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for range 60 {
		select {
		case <-second.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if err := activity.Heartbeat(ctx, nil); err != nil {
			return "", err
		}
	}
	return q.Service + " knows " + q.Text, nil
}
