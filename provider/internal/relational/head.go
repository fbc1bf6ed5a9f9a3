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
	Listened    bool            // a listener is notified of the end
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
	LeaseUntil  int64 // on the lease clock; 0: none
	StickyOwner string
	StickyUntil int64
	NotBefore   provider.Time
	FetchAt     provider.Time // as stored; 0: no fetch may take it

	Wide  bool // indexed columns changed
	Kept  bool // StickyOwner was set in this transaction
	dirty bool
}

// Ready returns from when a fetch may take the instance while nobody holds it; 0: never.
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

// Describe writes what the head knows to a row of an instance.
func (h *Head) Describe(in *provider.Instance, kind TurnKind) {
	in.ID, in.Key, in.Name, in.CodeVersion, in.EngineLevel = h.ID, h.Key, kind.Name, kind.CodeVersion, kind.Level
	in.Status, in.Deleting, in.Execution, in.Version = h.Status, h.Deleting, h.Execution, h.Version
	in.HistoryLength, in.HistoryBytes, in.InboxMessages, in.Deliveries = h.Length, h.Bytes, h.Inbox, h.Deliveries
	in.UpdatedAt, in.EndedAt, in.ReadyAt = h.UpdatedAt, h.EndedAt, h.ReadyAt
}

// sendable returns why an instance accepts no messages.
func (h *Head) sendable(id string, key provider.UUID) error {
	switch {
	case h == nil || h.Deleting:
		return NotFound(id, key)
	case h.Status.Ended():
		return fmt.Errorf("instance %q (status %s): %w", h.ID, h.Status, provider.ErrEnded)
	}
	return nil
}

// NotFound returns the error for an instance that does not exist.
func NotFound(id string, key provider.UUID) error {
	if key.IsZero() {
		return fmt.Errorf("instance %q: %w", id, provider.ErrNotFound)
	}
	return fmt.Errorf("instance %s: %w", key, provider.ErrNotFound)
}
