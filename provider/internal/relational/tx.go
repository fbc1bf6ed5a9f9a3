package relational

import (
	"maps"
	"math"
	"time"

	"github.com/perdure/perdure/provider"
)

// Tx is what the calls of a group run in. Only the goroutine that runs the group touches it.
type Tx struct {
	Rows    Rows
	Now     provider.Time // of the member that runs
	Elapsed int64         // the same instant by the clock of leases, in microseconds
	Changes int           // heads and rows changed so far
	Heads   map[provider.UUID]*Head
	Effects Effects

	dirty   []*Head
	begun   bool                  // by Begin
	journal map[provider.UUID]int // where in was the heads are that the member saw
	was     []Head                // as it found them; one without a key was made by it
	packed  []byte                // reused
}

// Reset makes an empty transaction of one that is over, and of which nobody holds anything.
func (t *Tx) Reset() {
	clear(t.Heads)
	t.Effects.Reset()
	clear(t.dirty)
	clear(t.was)
	*t = Tx{Rows: t.Rows, Heads: t.Heads, Effects: t.Effects, dirty: t.dirty[:0], journal: t.journal, was: t.was[:0], packed: t.packed}
}

// Effects are what others must hear of once the transaction is durable.
type Effects struct {
	Turns      map[int64]struct{} // kinds of instances that became fetchable
	Tasks      map[int64]struct{} // kinds of tasks that did
	Freed      map[int64]struct{} // kinds of tasks that are not leased any more; nil for none
	Expired    bool               // a task may be past its deadline
	Asks       bool               // a question was left
	Due        provider.Time      // the next moment at which something becomes fetchable by time alone
	ElapsedDue int64              // the same by the clock of leases
	Made       []provider.UUID    // instances
	Changed    []provider.UUID    // instances that ended, were blocked or are gone
	Answers    []Answer
	Notices    []provider.Notice
	Dropped    int64
	Commits    int64 // turns
}

// Answer is the answer to a question.
type Answer struct {
	ID      provider.UUID
	Payload []byte
	Now     provider.Time
}

// Never is a moment that does not come.
const Never = math.MaxInt64

// NewEffects makes empty ones.
func NewEffects() Effects {
	return Effects{
		Turns: make(map[int64]struct{}), Tasks: make(map[int64]struct{}), Due: Never, ElapsedDue: Never,
	}
}

// Reset makes empty ones of those that were told. Their lists may be held by others.
func (fx *Effects) Reset() {
	clear(fx.Turns)
	clear(fx.Tasks)
	*fx = Effects{Turns: fx.Turns, Tasks: fx.Tasks, Due: Never, ElapsedDue: Never}
}

// Merge adds what a later member did.
func (fx *Effects) Merge(o *Effects) {
	for k := range o.Turns {
		fx.Turns[k] = struct{}{}
	}
	for k := range o.Tasks {
		fx.Tasks[k] = struct{}{}
	}
	if fx.Freed == nil {
		fx.Freed = o.Freed
	} else {
		maps.Copy(fx.Freed, o.Freed)
	}
	fx.Expired, fx.Asks = fx.Expired || o.Expired, fx.Asks || o.Asks
	fx.Due, fx.ElapsedDue = min(fx.Due, o.Due), min(fx.ElapsedDue, o.ElapsedDue)
	fx.Made = append(fx.Made, o.Made...)
	fx.Changed, fx.Answers, fx.Notices = append(fx.Changed, o.Changed...), append(fx.Answers, o.Answers...), append(fx.Notices, o.Notices...)
	fx.Dropped += o.Dropped
	fx.Commits += o.Commits
}

// Begin starts a member that Undo can take back.
func (t *Tx) Begin() {
	if t.journal == nil {
		t.journal = make(map[provider.UUID]int)
	}
	clear(t.journal)
	t.begun, t.was = true, t.was[:0]
}

// Undo gives the heads that the member saw their former contents. The rows are the store's business.
func (t *Tx) Undo() {
	for key, at := range t.journal {
		if t.was[at].Key.IsZero() { // it was made by the member
			delete(t.Heads, key)
			continue
		}
		*t.Heads[key] = t.was[at]
	}
	kept := t.dirty[:0]
	for _, h := range t.dirty {
		if h.dirty && t.Heads[h.Key] == h {
			kept = append(kept, h)
		}
	}
	t.dirty = kept
	t.begun = false
}

// Head answers the head of an instance, nil if there is none.
func (t *Tx) Head(key provider.UUID) (*Head, error) {
	h, ok := t.Heads[key]
	if !ok {
		var err error
		if h, err = t.Rows.LoadHead(key); err != nil || h == nil {
			return nil, err
		}
		t.Heads[key] = h
	}
	t.remember(h.Key, h)
	return h, nil
}

// remember notes how a member found a head, or that it made it.
func (t *Tx) remember(key provider.UUID, was *Head) {
	if !t.begun {
		return
	}
	if _, known := t.journal[key]; !known {
		t.journal[key] = len(t.was)
		t.was = append(t.was, *was)
	}
}

// Find answers the head of the instance that a request names, nil if there is none.
func (t *Tx) Find(id string, key provider.UUID) (*Head, error) {
	if key.IsZero() {
		var err error
		if key, err = t.Rows.Current(id); err != nil || key.IsZero() {
			return nil, err
		}
	}
	return t.Head(key)
}

// touch marks a head whose plain columns changed.
func (t *Tx) touch(h *Head) {
	t.Changes++
	if !h.dirty {
		h.dirty = true
		t.dirty = append(t.dirty, h)
	}
}

// TouchWide marks a head of which columns changed that indexes use, or what they depend on.
func (t *Tx) TouchWide(h *Head) {
	h.Wide = true
	t.touch(h)
}

// Flush writes the heads that changed.
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
	h.dirty = false
	err := t.Rows.StoreHead(h)
	h.Wide, h.Kept = false, false
	t.announce(h)
	return err
}

// announce tells fetches that wait of an instance that they may take, now or later.
func (t *Tx) announce(h *Head) {
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

// Forget drops all heads.
func (t *Tx) Forget() {
	clear(t.Heads)
	t.dirty = t.dirty[:0]
}

func (t *Tx) wake(at provider.Time) { t.Effects.Due = min(t.Effects.Due, at) }

// WakeElapsed tells the fetches that wait to look at an instant of the clock of leases.
func (t *Tx) WakeElapsed(at int64) { t.Effects.ElapsedDue = min(t.Effects.ElapsedDue, at) }

func (t *Tx) notice(key provider.UUID, execution, event int64) {
	t.Effects.Notices = append(t.Effects.Notices, provider.Notice{Key: key, Execution: execution, EventID: event})
}

// News tells the calls that wait for the instance.
func (t *Tx) News(key provider.UUID) { t.Effects.Changed = append(t.Effects.Changed, key) }

// Lease answers when a lease that begins now ends.
func (t *Tx) Lease(d time.Duration) int64 {
	until := t.Elapsed + d.Microseconds()
	t.WakeElapsed(until)
	return until
}

// Wall turns an instant of the clock of leases into one of the storage's.
func (t *Tx) Wall(elapsed int64) provider.Time {
	if elapsed == 0 {
		return 0
	}
	return t.Now + provider.Time(elapsed-t.Elapsed)
}

// Row answers a whole row as the transaction has it.
func (t *Tx) Row(key provider.UUID) (provider.Instance, error) {
	if h := t.Heads[key]; h != nil {
		t.remember(key, h) // a member before this one may have changed it, which must be written if this one is taken back
		if err := t.Store(h); err != nil {
			return provider.Instance{}, err
		}
	}
	return t.Rows.Instance(key)
}

// State tells whether execution of the instance still wants results.
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

// EndLease takes the turn lease from an instance.
func (t *Tx) EndLease(h *Head) {
	h.LeaseToken, h.LeaseOwner, h.LeaseUntil = provider.UUID{}, "", 0
	t.TouchWide(h)
}
