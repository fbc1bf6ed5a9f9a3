// Package timelimit gives many short calls one deadline: a context and a timer for each of them would be a tenth of what a step leaves to the garbage
// collector.
package timelimit

import (
	"context"
	"sync"
	"time"
)

// Shared is the deadline of all calls that begin within an eighth of its time. It is safe for concurrent use.
type Shared struct {
	parent context.Context //nolint:containedctx // of all that Context answers
	limit  time.Duration

	mu     sync.Mutex
	ctx    context.Context    //nolint:containedctx // which calls are given
	cancel context.CancelFunc // which is for nobody to call: it ends by itself
	fresh  time.Time          // as long as it is given to them
}

// NewShared makes the deadline of calls that end with a parent, and after limit at the latest.
func NewShared(parent context.Context, limit time.Duration) *Shared {
	return &Shared{parent: parent, limit: limit}
}

// Context answers the context of a call that begins now, which has seven eighths of the time at least. It need not be cancelled, and must not be kept
// beyond the call.
func (s *Shared) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.ctx == nil || now.After(s.fresh) {
		s.ctx, s.cancel = context.WithTimeout(s.parent, s.limit) //nolint:gosec // see cancel
		s.fresh = now.Add(s.limit / 8)
	}
	return s.ctx
}
