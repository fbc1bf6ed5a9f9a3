package retention

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/access"
)

// Activities are those of retention.
type Activities struct {
	Do        access.Step                                              // that of an operator
	Heartbeat func(ctx context.Context, done []byte, store bool) error // stores progress, at once if store is set
}

// Step makes a step. An attempt after a crash continues where the last heartbeat says.
func (a Activities) Step(ctx context.Context, req json.RawMessage) (json.RawMessage, error) {
	from, _, err := activity.HeartbeatDetails[json.RawMessage](ctx)
	if err != nil {
		from = nil
	}
	done, err := a.Do(ctx, req, from, func(done []byte, store bool) error { return a.Heartbeat(ctx, done, store) })
	if err != nil {
		return nil, err
	}
	return done, nil
}
