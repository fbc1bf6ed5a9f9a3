package operate

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/sealing"
	"github.com/perdure/perdure/provider"
)

// A step repeats what may go well later. What was refused is counted as failed: a repeat would be refused, too, and the job would never end.
func TestAStepRepeatsOnlyWhatPasses(t *testing.T) {
	t.Parallel()
	down := &provider.Error{Op: "steer", Err: errors.New("connection refused"), Outcome: provider.OutcomeNothing, Retryable: true}
	full := &provider.Error{Op: "steer", Err: errors.New("disk full"), Outcome: provider.OutcomeNothing}
	for err, want := range map[error]bool{
		down: true, full: false, errors.New("unknown to the contract"): true, context.DeadlineExceeded: true, client.ErrOutcomeUnknown: true,
		client.ErrOverloaded: true, client.ErrNotFinished: true, sealing.ErrCodec: true,
		client.ErrUnserved: false, client.ErrNotReplayed: false, client.ErrSuperseded: false, client.ErrBusy: false, client.ErrBadPoint: false,
		client.ErrNoPoint: false, client.ErrForbidden: false, client.ErrQueryTimeout: false, client.ErrInvalid: false,
		errors.Join(client.ErrUnserved, context.DeadlineExceeded): false,
	} {
		if got := repeats(fmt.Errorf("an act: %w", err)); got != want {
			t.Errorf("%v: repeated: %v, want %v", err, got, want)
		}
	}
}
