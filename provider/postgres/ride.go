package postgres

import (
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// What a call that waits is at.
const (
	awake int32 = iota
	dozing
	riding
)

// A ride is a parked call's place in the transaction of a group that makes work ready for it: the claim costs no transaction, no push to
// the disk and no round trip of its own.
type ride struct {
	state atomic.Int32
	// queue adds the claim to a group's batch, and settle says whether that was committed: then it answers whether something was claimed.
	queue  func(*pgx.Batch)
	settle func(committed bool) bool
	// claimed answers what was claimed, before it is settled.
	claimed func() []provider.Turn
	found   bool
	err     error         // nobody knows whether something was claimed
	over    chan struct{} // one value for each ride
}

// board adds the claim of a call that waits for what a group makes ready; nil if there is none.
func (s *signals) board(fx *relational.Effects, b *pgx.Batch) *parked {
	if len(fx.Turns) == 0 {
		return nil
	}
	out := &signal{}
	for kind := range fx.Turns {
		out.Turns = append(out.Turns, kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for call := range s.parked {
		if call.ride.queue != nil && call.wants(out) && s.p.presence.shows(call.turns.req.Owner) && call.ride.state.CompareAndSwap(dozing, riding) {
			call.ride.queue(b)
			return call
		}
	}
	return nil
}

// claimed answers what a rider took.
func (call *parked) claimed() []provider.Turn {
	if call == nil {
		return nil
	}
	return call.ride.claimed()
}

// alight ends the ride.
func (call *parked) alight(committed bool) {
	if call == nil {
		return
	}
	call.ride.found = call.ride.settle(committed)
	call.ride.over <- struct{}{}
}

// strand ends the ride with a group of which nobody knows the outcome: who asked for the claim must give it back, as after a look of its own.
func (call *parked) strand(err error) {
	if call == nil {
		return
	}
	call.ride.err = failed(call.op, err, provider.OutcomeUnknown)
	call.alight(false)
}

// doze begins to wait.
func (r *ride) doze() { r.state.Store(dozing) }

// wakes ends the waiting, after a ride that is under way. It answers whether that has claimed something.
func (r *ride) wakes() (found bool) {
	if r.state.CompareAndSwap(dozing, awake) {
		return false
	}
	<-r.over
	return r.ends()
}

// ends is told of the end of a ride.
func (r *ride) ends() (found bool) {
	r.state.Store(awake)
	return r.found
}
