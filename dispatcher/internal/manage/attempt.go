package manage

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// Attempt is the state of an attempt that a Manager uses. It is embedded in the state of its owner and must not be
// copied.
type Attempt struct {
	Ref    provider.TaskRef
	Token  provider.UUID
	Lease  Lease                   // when the attempt is added
	Cancel context.CancelCauseFunc // ends its context
	Owner  Owner
	Queue  string

	unwanted   atomic.Bool
	shared     atomic.Bool
	heartbeats heartbeats
}

// Owner runs an Attempt.
type Owner interface {
	// Leave ends the attempt in place of its code and releases its task.
	Leave(ctx context.Context)
}

// Unwanted reports whether the attempt's call was cancelled, even if its context had ended before.
func (a *Attempt) Unwanted() bool { return a.unwanted.Load() }

// Share says that others may have the token and send heartbeats for the attempt.
func (a *Attempt) Share() { a.shared.Store(true) }

// HeartbeatTimeout returns the heartbeat timeout of an attempt that beats, 0 if it has none.
func (a *Attempt) HeartbeatTimeout() time.Duration { return a.heartbeats.limit }

// StopHeartbeats stops the heartbeats.
func (a *Attempt) StopHeartbeats() { a.heartbeats.stop() }

// Unsaved returns the last heartbeat details unless the store surely has them.
func (a *Attempt) Unsaved() []byte { return a.heartbeats.unsaved() }
