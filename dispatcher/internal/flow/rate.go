package flow

import (
	"math"
	"sync"
	"time"
)

// pace is a rate: the generic cell rate algorithm (ITU-T I.371), which needs one moment to remember. Things at that rate
// follow each other by interval; next is when the next one may be.
type pace struct {
	interval time.Duration
	next     time.Time
}

func newPace(perSecond float64) pace {
	return pace{interval: max(time.Duration(math.Round(float64(time.Second)/perSecond)), 1)}
}

// within returns how many fit into a span, at least one.
func (p *pace) within(span time.Duration) int { return max(1, int(span/p.interval)) }

// burst is how long a pace saves up what was not used.
const burst = 100 * time.Millisecond

// NodeRate bounds how many activities a node begins in a second. A nil one does not.
type NodeRate struct {
	mu   sync.Mutex
	pace pace
}

// NewNodeRate returns the rate; nil for 0, which is no limit.
func NewNodeRate(perSecond float64) *NodeRate {
	if perSecond == 0 {
		return nil
	}
	return &NodeRate{pace: newPace(perSecond)}
}

// Allowed returns how many of n may begin now. If none may, it returns the time until one may.
func (r *NodeRate) Allowed(n int, now time.Time) (int, time.Duration) {
	if r == nil {
		return n, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ahead := max(r.pace.next.Sub(now), 0)
	saved := time.Duration(r.pace.within(burst)) * r.pace.interval
	room := int((saved - ahead) / r.pace.interval)
	if room < 1 {
		return 0, ahead - saved + r.pace.interval
	}
	return min(n, room), 0
}

// Began counts n that begin.
func (r *NodeRate) Began(n int, now time.Time) {
	if r == nil || n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pace.next.Before(now) {
		r.pace.next = now
	}
	r.pace.next = r.pace.next.Add(time.Duration(n) * r.pace.interval)
}
