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
	awake int32 = iota
	dozing
	riding
)

// ride is a waiting call's place in the transaction of a group that makes work ready for it. The claim then costs no
// transaction, no flush to disk and no round trip of its own.
type ride struct {
	state atomic.Int32
	// queue adds the claim to a group's batch. settle is called with the outcome of the commit, and reports whether
	// something was claimed.
	queue  func(*pgx.Batch)
	settle func(committed bool) bool
	// claimed returns what was claimed, before it is settled.
	claimed func() []provider.Turn
	found   bool
	err     error         // set if it is unknown whether something was claimed
	over    chan struct{} // one value for each ride
}

// board adds the claim of a call that waits for what a group makes ready. It returns nil if there is none.
func (p *waiters) board(fx *relational.Effects, b *pgx.Batch, shown *presence) *waiter {
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
		if call.ride.queue != nil && call.wants(out) && shown.shows(call.turns.req.Owner) && call.ride.state.CompareAndSwap(dozing, riding) {
			call.ride.queue(b)
			return call
		}
	}
	return nil
}

// claimed returns what a rider claimed.
func (call *waiter) claimed() []provider.Turn {
	if call == nil {
		return nil
	}
	return call.ride.claimed()
}

// alight ends the ride.
func (call *waiter) alight(committed bool) {
	if call == nil {
		return
	}
	call.ride.found = call.ride.settle(committed)
	call.ride.over <- struct{}{}
}

// strand ends the ride with a group whose outcome is unknown. The caller of the claim must undo it, as after its own
// poll.
func (call *waiter) strand(err error) {
	if call == nil {
		return
	}
	call.ride.err = failed(call.op, err, provider.OutcomeUnknown)
	call.alight(false)
}

// doze begins to wait.
func (r *ride) doze() { r.state.Store(dozing) }

// wakes ends the waiting, after a ride in progress. It reports whether the ride claimed something.
func (r *ride) wakes() (found bool) {
	if r.state.CompareAndSwap(dozing, awake) {
		return false
	}
	<-r.over
	return r.ends()
}

// ends records the end of a ride.
func (r *ride) ends() (found bool) {
	r.state.Store(awake)
	return r.found
}

// boardKnown claims what a group makes ready for a waiting call without another statement. It requires that this
// process knows everything a claim would read. The rows that the group writes anyway are written as the claim leaves
// them. Otherwise it returns nil and changes nothing. Without this, W6 takes 21 % more CPU.
func (p *waiters) boardKnown(u *unit, t *relational.Tx, shown *presence) *waiter {
	if len(t.Effects.Turns) == 0 || len(u.ops.instances) > 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for call := range p.waiting {
		if call.turns == nil || call.ride.state.Load() != dozing || !shown.shows(call.turns.req.Owner) {
			continue
		}
		turns := call.turns.known(u)
		if len(turns) == 0 || !call.ride.state.CompareAndSwap(dozing, riding) {
			continue
		}
		call.turns.takes(u, t, turns)
		return call
	}
	return nil
}

// known returns the turns of all instances that a group makes ready. It returns none if a claim might find something
// else.
func (f *turnFetch) known(u *unit) (turns []provider.Turn) {
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
		turn, ok := f.turn(u, h)
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

func (f *turnFetch) forget() { f.res, f.got = provider.FetchTurnsResult{}, nil }

// turn builds a turn from what a group leaves of an instance.
func (f *turnFetch) turn(u *unit, h *relational.Head) (turn provider.Turn, ok bool) {
	was := u.recalled[h.Key]
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

// takes leases the instances to the fetch.
func (f *turnFetch) takes(u *unit, t *relational.Tx, turns []provider.Turn) {
	f.forget()
	f.res = provider.FetchTurnsResult{Turns: turns, Now: u.now}
	until := int64(u.now) + f.req.Lease.Microseconds()
	for i := range u.ops.heads {
		h := &u.ops.heads[i]
		if h.FetchAt == 0 || h.FetchAt > u.now {
			continue
		}
		for _, h := range []*relational.Head{h, t.Heads[h.Key]} { // what is written, and what will be remembered
			h.LeaseToken, h.LeaseOwner, h.LeaseUntil, h.FetchAt = f.req.Token, f.req.Owner, until, provider.Time(until)
			h.Deliveries++
		}
	}
	clear(t.Effects.Turns) // no other fetch need poll
}
