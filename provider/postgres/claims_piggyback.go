package postgres

import (
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// States of a waiting call.
const (
	claimPolling int32 = iota
	claimWaiting
	claimAttached
)

// piggyback is a waiting call's claim in the transaction of a group that makes work ready for it. The claim then costs no
// transaction, no flush to disk and no round trip of its own.
type piggyback struct {
	state atomic.Int32
	// queue adds the claim to a group's batch. settle is called with the outcome of the commit, and reports whether
	// something was claimed.
	queue  func(*pgx.Batch)
	settle func(committed bool) bool
	// claimed returns what was claimed, before it is settled.
	claimed  func() []provider.Turn
	found    bool
	err      error         // set if it is unknown whether something was claimed
	finished chan struct{} // one value for each piggybacked claim
}

// attach adds the claim of a call that waits for what a group makes ready. It returns nil if there is none.
func (p *waiters) attach(fx *relational.Effects, b *pgx.Batch, shown *presence) *waitingFetch {
	if len(fx.Turns) == 0 {
		return nil
	}
	out := &signal{}
	for kind := range fx.Turns {
		out.Turns = append(out.Turns, kind)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for call := range p.waiting {
		if call.piggyback.queue != nil && call.wants(out) && shown.shows(call.turns.req.Owner) && call.piggyback.state.CompareAndSwap(claimWaiting, claimAttached) {
			call.piggyback.queue(b)
			return call
		}
	}
	return nil
}

// claimed returns what an attached claim got.
func (call *waitingFetch) claimed() []provider.Turn {
	if call == nil {
		return nil
	}
	return call.piggyback.claimed()
}

// finish ends the piggybacked claim.
func (call *waitingFetch) finish(committed bool) {
	if call == nil {
		return
	}
	call.piggyback.found = call.piggyback.settle(committed)
	call.piggyback.finished <- struct{}{}
}

// fail ends the piggybacked claim with a group whose outcome is unknown. The caller of the claim must undo it, as after
// its own poll.
func (call *waitingFetch) fail(err error) {
	if call == nil {
		return
	}
	call.piggyback.err = failed(call.op, err, provider.OutcomeUnknown)
	call.finish(false)
}

// beginWait lets groups attach the claim.
func (r *piggyback) beginWait() { r.state.Store(claimWaiting) }

// endWait ends the waiting, after a claim in progress. It reports whether that claim got something.
func (r *piggyback) endWait() (found bool) {
	if r.state.CompareAndSwap(claimWaiting, claimPolling) {
		return false
	}
	<-r.finished
	return r.detach()
}

// detach records the end of a piggybacked claim.
func (r *piggyback) detach() (found bool) {
	r.state.Store(claimPolling)
	return r.found
}

// attachCached claims what a group makes ready for a waiting call without another statement. It requires that this
// process knows everything a claim would read. The rows that the group writes anyway are written as the claim leaves
// them. Otherwise it returns nil and changes nothing. Without this, W6 takes 21 % more CPU.
func (p *waiters) attachCached(u *unit, t *relational.Tx, shown *presence) *waitingFetch {
	if len(t.Effects.Turns) == 0 || len(u.ops.instances) > 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for call := range p.waiting {
		if call.turns == nil || call.piggyback.state.Load() != claimWaiting || !shown.shows(call.turns.req.Owner) {
			continue
		}
		turns := call.turns.cachedTurns(u)
		if len(turns) == 0 || !call.piggyback.state.CompareAndSwap(claimWaiting, claimAttached) {
			continue
		}
		call.turns.leaseCached(u, t, turns)
		return call
	}
	return nil
}

// cachedTurns returns the turns of all instances that a group makes ready. It returns none if a claim might find something
// else.
func (f *turnFetch) cachedTurns(u *unit) (turns []provider.Turn) {
	kinds := f.kinds()
	for i := range u.ops.heads {
		h := &u.ops.heads[i]
		if h.FetchAt == 0 || h.FetchAt > u.now {
			continue
		}
		kept := h.StickyUntil > int64(u.now) && h.StickyOwner != f.req.Owner
		if kept || len(turns) == f.req.Max || !slices.Contains(kinds, h.Kind) {
			return nil
		}
		turn, ok := f.cachedTurn(u, h)
		if !ok {
			return nil
		}
		turns = append(turns, turn)
	}
	return turns
}

// kinds returns the known numbers of what the caller can run.
func (f *turnFetch) kinds() []int64 {
	kinds := f.c.kinds.get()
	list := []int64{}
	for _, c := range f.req.Capabilities {
		for _, id := range kinds.ByCap[c] {
			if kinds.ByTurn[id].Level <= f.req.EngineLevel {
				list = append(list, id)
			}
		}
	}
	return list
}

func (f *turnFetch) reset() { f.res, f.got = provider.FetchTurnsResult{}, nil }

// cachedTurn builds a turn from what a group leaves of an instance.
func (f *turnFetch) cachedTurn(u *unit, h *relational.Head) (turn provider.Turn, ok bool) {
	was := u.cached[h.Key]
	if was == nil || was.row == nil || u.described[h.Key] || h.Blocked || h.Inbox > int64(f.req.MaxMessages) {
		return turn, false
	}
	turn.Messages = u.waiting(h, u.ops.messages)
	size := 0
	for i := range turn.Messages {
		m := &turn.Messages[i]
		if size += len(m.Payload); m.VisibleAt > u.now || size > f.req.MaxBytes {
			return turn, false
		}
		m.Payload = slices.Clone(m.Payload)
	}
	kind, known := u.kinds.get().ByTurn[h.Kind]
	if !known {
		return turn, false
	}
	turn.Instance = *was.row
	in := &turn.Instance
	h.Describe(in, kind)
	in.Deliveries++
	in.Attributes, in.CustomStatus, in.Result = slices.Clone(in.Attributes), slices.Clone(in.CustomStatus), slices.Clone(in.Result)
	return turn, int64(len(turn.Messages)) == h.Inbox
}

// leaseCached leases the instances to the fetch.
func (f *turnFetch) leaseCached(u *unit, t *relational.Tx, turns []provider.Turn) {
	f.reset()
	f.res = provider.FetchTurnsResult{Turns: turns, Now: u.now}
	until := int64(u.now) + f.req.Lease.Microseconds()
	for i := range u.ops.heads {
		h := &u.ops.heads[i]
		if h.FetchAt == 0 || h.FetchAt > u.now {
			continue
		}
		for _, h := range []*relational.Head{h, t.Heads[h.Key]} { // what is written, and what will be cached
			h.LeaseToken, h.LeaseOwner, h.LeaseUntil, h.FetchAt = f.req.Token, f.req.Owner, until, provider.Time(until)
			h.Deliveries++
		}
	}
	clear(t.Effects.Turns) // no other fetch need poll
}
