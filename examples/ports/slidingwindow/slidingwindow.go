// Package slidingwindow processes many records, a few at a time. Each record is an instance of its own: orchestration.StartDetached
// starts it, and with TellEnd its end is an event. So the batch may continue as new while records are running.
package slidingwindow

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Batch is what has to be done, and the state that one execution leaves to the next.
type Batch struct {
	Records int             // in all, numbered from 0
	Window  int             // how many may run at a time
	Next    int             // the first one that has not begun
	Running map[string]bool // the IDs of the instances that have not ended
}

// page is how many beginnings and ends of records one execution has. It keeps the history short.
const page = 100

// Process returns the number of records when all have ended.
func Process(ctx *orchestration.Context, b Batch) (int, error) {
	ends := orchestration.Events[orchestration.Ended](ctx, "record ended")
	if b.Running == nil {
		b.Running = map[string]bool{}
	}
	for range page {
		switch {
		case b.Next < b.Records && len(b.Running) < b.Window:
			id := fmt.Sprintf("%s/%d", ctx.Info().ID, b.Next)
			_, err := orchestration.StartDetached(ctx, Record, b.Next,
				orchestration.WithInstanceID(id), orchestration.TellEnd("record ended")).Get(ctx)
			if err != nil {
				return b.Next, err
			}
			b.Running[id] = true
			b.Next++
		case len(b.Running) > 0:
			end, err := ends.Receive(ctx)
			if err != nil {
				return b.Next, err
			}
			delete(b.Running, end.ID)
		default:
			return b.Records, nil
		}
	}
	return b.Next, orchestration.ContinueAsNew(ctx, b)
}

// Record processes one record. It may call whatever the record needs.
func Record(ctx *orchestration.Context, n int) (orchestration.None, error) {
	return orchestration.CallActivity(ctx, Convert, n, orchestration.WithRetry(orchestration.RetryPolicy{}))
}

// Convert stands for the work.
func Convert(ctx context.Context, n int) (activity.None, error) {
	activity.Logger(ctx).InfoContext(ctx, "convert", "record", n)
	return activity.None{}, nil
}
