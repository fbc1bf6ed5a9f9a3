package prefix

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// update is one of the origin's current execution that the reset changes.
type update struct {
	body  *history.UpdateReceived
	at    int64
	stage int64 // in the new execution
	later bool  // it was received behind the point
}

// readUpdates returns the updates that a reset changes, in the order in which they were received. Those that had an outcome at the point
// keep it. Those that got one later go on from the point if they were received before it, and are discarded otherwise: their callers
// may have acted on what does not count any more. Those without an outcome are received again, unless the origin has ended: their callers
// were told that it ended. A fork has none of its origin.
func (p *Plan) readUpdates() []update {
	if p.Fork() {
		return nil
	}
	kept := len(p.Events) - len(p.later())
	byEvent := make(map[int64]int)
	var all []update
	for n, e := range p.Events {
		var of int64
		stage := history.UpdateDiscarded
		switch b := e.Body.(type) {
		case *history.UpdateReceived:
			byEvent[e.ID] = len(all)
			all = append(all, update{body: b, at: e.At, stage: history.UpdatePending, later: n >= kept})
			continue
		case *history.UpdateAccepted:
			of, stage = b.Received, history.UpdateRunning
		case *history.UpdateRejected:
			of = b.Received
		case *history.UpdateCompleted:
			of = b.Received
		default:
			continue
		}
		at, known := byEvent[of]
		if !known { // a damaged history, which its replay refuses
			continue
		}
		u := &all[at]
		switch over := stage == history.UpdateDiscarded; {
		case n < kept && over:
			u.body = nil // it keeps its outcome
		case n < kept:
			u.stage = stage
		case over && u.later:
			u.stage = history.UpdateDiscarded
		}
	}
	return p.discard(all)
}

// discard leaves out what does not change, and notes in the ForkPoint what must not run again.
func (p *Plan) discard(all []update) (changed []update) {
	point := p.opened[len(p.opened)-1].Body.(*history.ForkPoint)
	for _, u := range all {
		if u.body == nil {
			continue
		}
		if u.later && (p.Branch.Opening.DropLater || p.Inst.Status.Ended()) {
			u.stage = history.UpdateDiscarded
		}
		if u.stage == history.UpdateDiscarded {
			hash := history.UpdateHash(u.body.ID)
			point.Updates = append(point.Updates, hash[:]...)
		}
		changed = append(changed, u)
	}
	return changed
}

// engineValues returns the engine's own key-values as they are at the point. A fork has none.
func (p *Plan) engineValues() (values []provider.KeyValue) {
	if p.Fork() {
		return nil
	}
	for _, key := range []string{replay.ValueClosing, replay.ValueUnread, replay.ValueWaiting} {
		if hasValue(p.Values, key) && !hasValue(p.out.Values, key) {
			values = append(values, provider.KeyValue{Key: key})
		}
	}
	for _, u := range p.updates {
		s := history.UpdateState{Outcome: u.stage, Name: u.body.Name, ID: u.body.ID, At: u.at}
		if s.Over() { // without its input, since very many may be discarded at once
			s.Ended = p.opened[len(p.opened)-1].At
		} else {
			s.Show(u.body.Input)
		}
		values = append(values, provider.KeyValue{Key: history.UpdateKey(u.body.ID), Value: history.EncodeUpdateState(s)})
	}
	return values
}
