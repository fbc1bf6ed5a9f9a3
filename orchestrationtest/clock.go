package orchestrationtest

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/bubble"
)

// bubbleClock is the clock of the bubble. The store in memory asks it which calls wait without a limit, too.
type bubbleClock struct{}

// Now implements memory.Source.
func (bubbleClock) Now() time.Time { return time.Now() }

// Timer implements memory.Source.
func (bubbleClock) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Unbounded reports whether a call that waits for work ignores its Wait.
func (bubbleClock) Unbounded(ctx context.Context) bool { return bubble.Unbounded(ctx) }
