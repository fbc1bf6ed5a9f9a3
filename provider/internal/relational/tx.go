package relational

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// Tx is the transaction that the calls of a group share. Only the goroutine that runs the group uses it.
type Tx struct {
	Effects

	Rows    Rows
	Now     provider.Time // of the member that runs
	Elapsed int64         // the same instant on the lease clock, in microseconds
	Changes int           // heads and rows changed so far
	Heads   map[provider.UUID]*Head

	Touched []provider.UUID // instances that were changed, for the calls that follow them; some twice

	dirty   []*Head // changed and not yet written
	journal journal // of the member that runs
	packed  []byte  // reused for events
}

// Begin starts a member that Undo can roll back.
func (t *Tx) Begin() { t.journal.begin(len(t.Touched)) }

// Undo restores the heads that the member changed. The store rolls back the rows.
func (t *Tx) Undo() {
	t.journal.undo(t.Heads)
	t.Touched = t.Touched[:t.journal.touched]
	kept := t.dirty[:0]
	for _, h := range t.dirty {
		if h.dirty && t.Heads[h.Key] == h {
			kept = append(kept, h)
		}
	}
	t.dirty = kept
}

// Head returns the head of an instance, nil if there is none.
func (t *Tx) Head(key provider.UUID) (*Head, error) {
	h, ok := t.Heads[key]
	if !ok {
		var err error
		if h, err = t.Rows.LoadHead(key); err != nil || h == nil {
			return nil, err
		}
		t.Heads[key] = h
	}
	t.journal.note(h.Key, h)
	return h, nil
}

// Find returns the head of the instance that a request names, nil if there is none.
func (t *Tx) Find(id string, key provider.UUID) (*Head, error) {
	if key.IsZero() {
		var err error
		if key, err = t.Rows.Current(id); err != nil || key.IsZero() {
			return nil, err
		}
	}
	return t.Head(key)
}

// adopt adds the head of a new instance.
func (t *Tx) adopt(h *Head) {
	t.journal.note(h.Key, nil)
	t.Heads[h.Key] = h
}

// touch marks a head whose plain columns changed.
func (t *Tx) touch(h *Head) {
	t.Changes++
	if !h.dirty {
		h.dirty = true
		t.dirty = append(t.dirty, h)
		t.Touched = append(t.Touched, h.Key)
	}
}

// Touch notes an instance of which something beside its head has changed, such as a task, for the calls that follow it.
func (t *Tx) Touch(key provider.UUID) { t.Touched = append(t.Touched, key) }

// TouchWide marks a head whose indexed columns changed, or columns that they depend on.
func (t *Tx) TouchWide(h *Head) {
	h.Wide = true
	t.touch(h)
}

// Flush writes the changed heads.
func (t *Tx) Flush() error {
	for _, h := range t.dirty {
		if err := t.Store(h); err != nil {
			return err
		}
	}
	t.dirty = t.dirty[:0]
	return nil
}

// Store writes one head if it changed.
func (t *Tx) Store(h *Head) error {
	if !h.dirty {
		return nil
	}
	if h.Kind <= 0 {
		return NoKind(h.Kind)
	}
	h.dirty = false
	err := t.Rows.StoreHead(h)
	t.stored(h)
	return err
}

// stored marks a head as written, and wakes the fetches that may take its instance now or later.
func (t *Tx) stored(h *Head) {
	h.dirty, h.Wide, h.Kept = false, false, false
	switch {
	case h.FetchAt == 0:
	case h.FetchAt > t.Now:
		t.wake(h.FetchAt)
	default:
		t.Effects.Turns[h.Kind] = struct{}{}
		if h.StickyUntil > t.Elapsed {
			t.WakeElapsed(h.StickyUntil)
		}
	}
}

// reread drops the head of an instance whose row a statement changes past it.
func (t *Tx) reread(key provider.UUID) error {
	h := t.Heads[key]
	if h == nil {
		return nil
	}
	t.journal.note(key, h)
	err := t.Store(h)
	delete(t.Heads, key)
	return err
}

// Forget drops all heads.
func (t *Tx) Forget() {
	clear(t.Heads)
	t.dirty = t.dirty[:0]
}

// Lease returns when a lease that begins now ends, on the lease clock. Waiting fetches look again then.
func (t *Tx) Lease(d time.Duration) int64 {
	until := t.Elapsed + d.Microseconds()
	t.WakeElapsed(until)
	return until
}

// Wall converts an instant of the lease clock to storage time.
func (t *Tx) Wall(elapsed int64) provider.Time {
	if elapsed == 0 {
		return 0
	}
	return t.Now + provider.Time(elapsed-t.Elapsed)
}

// Row returns a whole row as the transaction sees it.
func (t *Tx) Row(key provider.UUID) (provider.Instance, error) {
	if h := t.Heads[key]; h != nil {
		t.journal.note(key, h) // an earlier member may have changed it: that must be written even if this one is rolled back
		if err := t.Store(h); err != nil {
			return provider.Instance{}, err
		}
	}
	return t.Rows.Instance(key)
}

// State reports whether an execution of the instance still accepts results.
func (t *Tx) State(key provider.UUID, execution int64) (provider.ExecutionState, *Head, error) {
	missing := provider.ExecutionState{Kind: provider.ExecutionMissing}
	h, err := t.Head(key)
	if err != nil || h == nil || h.Deleting || execution > h.Execution {
		return missing, nil, err
	}
	if execution == h.Execution {
		if h.Status.Ended() {
			return provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: h.Status}, h, nil
		}
		return provider.ExecutionState{Kind: provider.ExecutionRunning}, h, nil
	}
	status, err := t.Rows.ExecutionStatus(key, execution)
	if err != nil || status == 0 {
		return missing, h, err
	}
	return provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: status}, h, nil
}

// endTurnLease removes the turn lease of an instance.
func (t *Tx) endTurnLease(h *Head) {
	h.LeaseToken, h.LeaseOwner, h.LeaseUntil = provider.UUID{}, "", 0
	t.TouchWide(h)
}
