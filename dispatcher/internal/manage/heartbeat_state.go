package manage

import (
	"sync"
	"time"
)

// Pace is how the heartbeats of an attempt are treated.
type Pace struct {
	Throttle time.Duration // least time between details that are sent
	Timeout  time.Duration // the heartbeat timeout; 0: none
	Auto     time.Duration // interval of automatic heartbeats; 0: none
}

// heartbeats is the signs of life of an attempt, and how much of its details the store has. It has no goroutine, and only the timers that
// its Pace needs.
type heartbeats struct {
	throttle, limit, every time.Duration // a Pace

	mu      sync.Mutex
	details []byte
	given   int64     // how many details came
	taken   int64     // up to which of them they were sent
	stored  int64     // up to which the store has them
	sent    time.Time // when details were sent last
	last    time.Time // the last sign of life
	ask     bool      // the lease is to be renewed at once, whatever there is to send
	queued  bool      // the manager knows that there is something to send, when it is due
	due     time.Time
	over    bool
	overdue *time.Timer // to look for the heartbeat timeout
	auto    *time.Timer // of the next automatic heartbeat
}

// stop stops the timers. Details that were not stored go into the report on the attempt.
func (p *heartbeats) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, timer := range []*time.Timer{p.overdue, p.auto} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// timedOut reports whether the attempt has passed its heartbeat timeout. If not, the timer is set to when it may have.
func (p *heartbeats) timedOut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	left := p.limit - time.Since(p.last)
	if left > 0 {
		p.overdue.Reset(left)
	}
	return left <= 0
}

// received takes a sign of life that somebody else gave.
func (p *heartbeats) received(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.After(p.last) {
		p.last = at
	}
}

// enqueue returns when the manager is to send something, if it does not know that. p is locked.
func (p *heartbeats) enqueue() (due time.Time, schedule bool) {
	if p.over || !p.ask && p.given == p.taken {
		return due, false
	}
	if !p.ask {
		due = p.sent.Add(p.throttle)
	}
	if p.queued && !due.Before(p.due) {
		return due, false
	}
	p.queued, p.due = true, due
	return due, true
}

// take returns the details that are to be sent now, and up to which they go; 0: none are, or not yet.
func (p *heartbeats) take(now time.Time) (details []byte, upTo int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued, p.ask = false, false
	if p.given == p.taken || now.Before(p.sent.Add(p.throttle)) {
		return nil, 0
	}
	p.taken, p.sent = p.given, now
	return p.details, p.given
}

// markStored says that the store has what was taken.
func (p *heartbeats) markStored(upTo int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored = max(p.stored, upTo)
}

// markUnsent says that what was taken may not be stored: it is sent with the next renewal.
func (p *heartbeats) markUnsent(upTo int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if upTo > 0 {
		p.taken, p.sent = p.stored, time.Time{}
	}
}

// unsaved returns the last details unless the store surely has them.
func (p *heartbeats) unsaved() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given == p.stored {
		return nil
	}
	return p.details
}
