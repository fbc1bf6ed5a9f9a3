package polling_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/polling"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestPolling(t *testing.T) {
	for name, c := range map[string]struct {
		poll  func(*orchestration.Context, string) (string, error)
		ready time.Duration // after the start
		asked int
	}{
		"often":  {polling.Often, 90 * time.Second, 91},
		"rarely": {polling.Rarely, 2 * time.Hour, 241},
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				began, asked := time.Now(), 0
				service := &polling.Service{Result: func(_ context.Context, job string) (string, error) {
					asked++
					if time.Since(began) < c.ready {
						return "", polling.ErrNotReady
					}
					return "result of " + job, nil
				}}
				orchestrationtest.AddActivity(e, service.Ask)
				orchestrationtest.AddActivity(e, service.Watch)
				got, err := orchestrationtest.Start(e, c.poll, "job 7").Wait(e.Context())
				if got != "result of job 7" || err != nil || asked != c.asked {
					t.Errorf("%q, %v after %d questions, want %d", got, err, asked, c.asked)
				}
			})
		})
	}
}
