package bulk

import (
	"context"

	"github.com/perdure/perdure/activity"
	form "github.com/perdure/perdure/internal/bulk"
)

// Activities are those of bulk jobs.
type Activities struct{ Client Stepper }

// Step acts on the next instances of a job. An attempt after a crash continues where the last heartbeat says.
func (a Activities) Step(ctx context.Context, req form.StepRequest) (form.Stepped, error) {
	var from *form.Stepped
	if done, ok, err := activity.HeartbeatDetails[form.Stepped](ctx); err == nil && ok {
		from = &done
	}
	return a.Client.StepBulk(ctx, req, from, func(done form.Stepped) { _ = activity.Heartbeat(ctx, done) })
}
