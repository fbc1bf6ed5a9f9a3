// Package timelimit gives many short calls one deadline. A context and a timer for each call would be a tenth of a
// step's garbage.
package timelimit

import (
	"context"
	"sync"
	"time"
)

// Shared is the deadline of all calls that begin within an eighth of its time. It is safe for concurrent use.
type Shared struct {
	parent context.Context //nolint:containedctx // of ctx
	limit  time.Duration

	mu     sync.Mutex
	ctx    context.Context    //nolint:containedctx // given to calls
	cancel context.CancelFunc // never called: ctx ends by itself
	fresh  time.Time          // how long ctx is given to calls
}

// NewShared makes the deadline of calls that end with a parent, and after limit at the latest.
func NewShared(parent context.Context, limit time.Duration) *Shared {
	return &Shared{parent: parent, limit: limit}
}

// Context returns the context of a call that begins now, which has at least seven eighths of the limit. It need not
// be cancelled, and must not be kept beyond the call.
func (s *Shared) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.ctx == nil || now.After(s.fresh) {
		s.ctx, s.cancel = context.WithTimeout(s.parent, s.limit) //nolint:gosec // see cancel
		s.fresh = now.Add(s.limit / 8)
	}
	return s.ctx
}
