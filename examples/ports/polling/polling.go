// Package polling asks a service until it has a result. To ask often, one attempt of an activity asks in a loop and calls
// activity.Heartbeat. To ask rarely, each question is an attempt, and orchestration.RetryPolicy has the interval.
package polling

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// ErrNotReady says that the service has no result yet.
var ErrNotReady = errors.New("the result is not ready")

// Service has the results of jobs.
type Service struct {
	Result func(ctx context.Context, job string) (string, error)
}

// Ask asks once.
func (s *Service) Ask(ctx context.Context, job string) (string, error) { return s.Result(ctx, job) }

// Watch asks every second. Its heartbeats show that it lives, and return an error when it has to stop.
func (s *Service) Watch(ctx context.Context, job string) (string, error) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		result, err := s.Result(ctx, job)
		if !errors.Is(err, ErrNotReady) {
			return result, err
		}
		if err := activity.Heartbeat(ctx, nil); err != nil {
			return "", err
		}
		select {
		case <-second.C:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// Often is for results that are ready within minutes.
func Often(ctx *orchestration.Context, job string) (string, error) {
	var service *Service // never called here: it only names the activities
	return orchestration.CallActivity(ctx, service.Watch, job,
		orchestration.WithHeartbeatTimeout(30*time.Second),
		orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// Rarely is for results that take hours. Nothing runs for half a minute between two questions, and a question adds nothing to the history.
func Rarely(ctx *orchestration.Context, job string) (string, error) {
	var service *Service
	return orchestration.CallActivity(ctx, service.Ask, job,
		orchestration.WithStartToCloseTimeout(10*time.Second),
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 30 * time.Second, Coefficient: 1, Jitter: orchestration.Off}))
}
