package bulk

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure/activity"
)

// Stepper makes steps: a *client.Client.
type Stepper interface {
	StepBulk(ctx context.Context, request, from []byte, heartbeat func(done []byte, store bool) error) ([]byte, error)
}

// Activities are those of bulk jobs.
type Activities struct {
	Client    Stepper
	Heartbeat func(ctx context.Context, done []byte, store bool) error // stores progress, at once if store is set
}

// Step makes a step. An attempt after a crash continues where the last heartbeat says.
func (a Activities) Step(ctx context.Context, req json.RawMessage) (json.RawMessage, error) {
	from, _, err := activity.HeartbeatDetails[json.RawMessage](ctx)
	if err != nil {
		from = nil
	}
	done, err := a.Client.StepBulk(ctx, req, from, func(done []byte, store bool) error { return a.Heartbeat(ctx, done, store) })
	if err != nil {
		return nil, err
	}
	return done, nil
}
