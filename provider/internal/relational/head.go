package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Head is the part of an instance's row that turns and messages work on.
type Head struct {
	Key         provider.UUID
	ID          string
	Kind        int64
	Status      provider.Status
	Deleting    bool
	Execution   int64
	Version     provider.UUID
	Length      int64
	Bytes       int64
	Parent      provider.Parent // without the ID and the close policy
	Blocked     bool
	RetryAt     provider.Time
	UpdatedAt   provider.Time
	EndedAt     provider.Time
	ReadyAt     provider.Time
	Inbox       int64
	InboxBytes  int64
	NextMessage int64
	Deliveries  int64
	LeaseToken  provider.UUID
	LeaseOwner  string
	LeaseUntil  int64 // of the elapsed clock; 0: none
	StickyOwner string
	StickyUntil int64
	NotBefore   provider.Time
	FetchAt     provider.Time // as stored; 0: a fetch may not take it

	Wide  bool // columns changed that indexes use
	Kept  bool // it is StickyOwner's since this transaction
	dirty bool
}

// Ready computes since when a fetch may take the instance, if nobody holds it; 0: it may not.
func (h *Head) Ready() provider.Time {
	if h.Status != provider.StatusRunning || h.Deleting || h.ReadyAt == 0 || h.Blocked && h.RetryAt == 0 {
		return 0
	}
	at := max(h.ReadyAt, h.NotBefore)
	if h.Blocked {
		at = max(at, h.RetryAt)
	}
	return at
}

// Sendable tells why an instance takes no messages.
func (h *Head) sendable(id string, key provider.UUID) error {
	switch {
	case h == nil || h.Deleting:
		return NotFound(id, key)
	case h.Status.Ended():
		return fmt.Errorf("instance %q (status %s): %w", h.ID, h.Status, provider.ErrEnded)
	}
	return nil
}

// NotFound is the answer for an instance that is not there.
func NotFound(id string, key provider.UUID) error {
	if key.IsZero() {
		return fmt.Errorf("instance %q: %w", id, provider.ErrNotFound)
	}
	return fmt.Errorf("instance %s: %w", key, provider.ErrNotFound)
}
