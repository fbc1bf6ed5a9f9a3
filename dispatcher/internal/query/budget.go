package query

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/perdure/perdure/dispatcher/internal/flow"
)

// budget bounds the executions that are rebuilt at the same time, and the stored bytes of their histories.
type budget struct {
	slots *flow.Slots
	bytes *semaphore.Weighted
	limit int64
}

func newBudget(slots int, bytes int64) budget {
	return budget{flow.NewSlots(slots), semaphore.NewWeighted(bytes), bytes}
}

// take waits until a history of size bytes fits, or ctx is done. One that is over the limit fits alone. The function that it returns
// gives the share back; nil: ctx is done.
func (b *budget) take(ctx context.Context, size int64) (release func()) {
	if b.slots.Take(ctx) != nil {
		return nil
	}
	share := min(max(size, 1), b.limit)
	if b.bytes.Acquire(ctx, share) != nil {
		b.slots.Release(1)
		return nil
	}
	return func() {
		b.bytes.Release(share)
		b.slots.Release(1)
	}
}
