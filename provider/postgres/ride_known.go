package postgres

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// boardKnown has a call that waits take what a group makes ready, without a statement more: this process knows all that a claim would
// read. The rows that the group writes anyway are written as the claim leaves them. It is nil, and nothing is changed, if it does not know all of it.
func (s *signals) boardKnown(u *unit, t *relational.Tx) *parked {
	if len(t.Effects.Turns) == 0 || len(u.ops.instances) > 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for call := range s.parked {
		if call.turns == nil || call.ride.state.Load() != dozing || !s.p.presence.shows(call.turns.req.Owner) {
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

// known answers the turns of all instances that a group makes ready, none if a claim might answer something else.
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

// turn makes up a turn of what a group leaves of an instance.
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
	turn.Instance = *was.row
	in, kind := &turn.Instance, u.p.kinds.get().ByTurn[h.Kind]
	in.Name, in.CodeVersion, in.EngineLevel = kind.Name, kind.CodeVersion, kind.Level
	in.Status, in.Execution, in.Version, in.HistoryLength, in.HistoryBytes = h.Status, h.Execution, h.Version, h.Length, h.Bytes
	in.UpdatedAt, in.ReadyAt, in.InboxMessages, in.Deliveries = h.UpdatedAt, h.ReadyAt, h.Inbox, h.Deliveries+1
	in.Attributes, in.CustomStatus, in.Result = slices.Clone(in.Attributes), slices.Clone(in.CustomStatus), slices.Clone(in.Result)
	return turn, int64(len(turn.Messages)) == h.Inbox
}

// waiting lists what waits in an inbox, as far as it is known: what this process remembers, and what came with the group.
func (u *unit) waiting(h *relational.Head, came []messageRow) (list []provider.Message) {
	removed := map[int64]struct{}{}
	if box := u.inbox[h.Key]; box != nil {
		removed = box.removed
	}
	if was := u.recalled[h.Key]; was != nil {
		for _, m := range was.waiting {
			if _, gone := removed[m.ID]; !gone {
				list = append(list, m)
			}
		}
	}
	for i := range came {
		m := &came[i]
		if _, gone := removed[m.ID]; !gone && m.key == h.Key {
			list = append(list, provider.Message{
				ID: m.ID, Kind: m.Kind, Execution: m.Execution, EventID: m.EventID, Timer: m.Timer, VisibleAt: m.VisibleAt, Payload: m.Payload,
			})
		}
	}
	slices.SortFunc(list, func(a, b provider.Message) int {
		return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// remembered answers what of that is kept for the claim that follows the turn in progress.
func (u *unit) remembered(h *relational.Head) []provider.Message {
	if h.LeaseUntil == 0 || h.Inbox == 0 || h.Inbox > maxWarmMessages || h.InboxBytes > maxWarmBytes {
		return nil
	}
	list := u.waiting(h, u.came)
	for i := range list {
		list[i].Payload = slices.Clone(list[i].Payload)
	}
	return list
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
	clear(t.Effects.Turns) // nobody else need look
}
