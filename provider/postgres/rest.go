package postgres

import (
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// restFor is how long a fetch relies on the claim before it, against what nobody tells of: rows that others held and did not take.
const restFor = 20 * time.Millisecond

// A rest is what a claim that rode along leaves behind. It took all that there was, and its call goes on to hear what comes. So the node's
// next fetch need not look, if it begins soon: it would find nothing, and be in the way of the group that makes work ready.
type rest struct {
	of    provider.FetchTurnsRequest
	call  *parked
	until time.Time
}

// serves tells whether a request would find no more than the claim.
func (r *rest) serves(req *provider.FetchTurnsRequest) bool {
	return time.Now().Before(r.until) && len(r.call.wake) == 0 && req.Owner == r.of.Owner && req.Ahead == r.of.Ahead &&
		req.EngineLevel == r.of.EngineLevel && slices.Equal(req.Capabilities, r.of.Capabilities)
}

// leave ends a call. One that took all that there was hears on for the next one.
func (s *signals) leave(call *parked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.parked, call)
	maps.DeleteFunc(s.resting, func(_ string, r *rest) bool { return time.Now().After(r.until) }) // of nodes that have gone
	if f := call.turns; f != nil && f.rode && len(f.res.Turns) < f.req.Max {
		s.resting[f.req.Owner] = &rest{f.req, call, time.Now().Add(s.restFor)}
	}
}

// relieve answers how long a call need not look. It goes by what was heard before it.
func (s *signals) relieve(call *parked, wait time.Duration) time.Duration {
	if call.turns == nil {
		return 0
	}
	req := &call.turns.req
	s.mu.Lock()
	defer s.mu.Unlock()
	before, now := s.resting[req.Owner], s.p.warm.clock.now()
	delete(s.resting, req.Owner)
	if before == nil || now == 0 || !before.serves(req) {
		return 0
	}
	if call.lower(before.call.next.Load()) {
		wait = min(wait, provider.Time(call.next.Load()).Sub(now))
	}
	return min(wait, time.Until(before.until))
}
