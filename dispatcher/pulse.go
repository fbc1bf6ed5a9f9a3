package dispatcher

import (
	"math"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
)

// pulse is the signs of life of an attempt, and how much of its details the store has. It has timers and no
// goroutine, and of those only what was asked for.
type pulse struct {
	throttle time.Duration // at least so long between details that are sent
	limit    time.Duration // the heartbeat timeout; 0: none
	every    time.Duration // of automatic heartbeats; 0: none

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

// pace is what the call and the settings of the node make of an attempt's heartbeats.
func (c *Config) pace(call *history.ActivityScheduled) (throttle, limit, every time.Duration) {
	throttle = c.HeartbeatThrottle
	if call.HeartbeatTimeout > 0 && call.HeartbeatTimeout < math.MaxInt64/int64(time.Microsecond) { // else three hundred years
		limit = time.Duration(call.HeartbeatTimeout) * time.Microsecond
		throttle = limit / 5 * 4
	}
	every, ok := c.AutoHeartbeats[ActivityName{Queue: call.Queue, Name: call.Name}]
	if !ok {
		every = c.AutoHeartbeat
	}
	if limit > 0 && every > 0 {
		every = min(every, limit/2) // the node does not know what timeouts callers choose
	}
	return min(throttle, c.MaxHeartbeatThrottle), limit, every
}

// startPulse begins to wait for heartbeats and to give those that are automatic.
func (d *Dispatcher) startPulse(a *attempt) {
	p := &a.pulse
	p.throttle, p.limit, p.every = d.cfg.pace(a.call)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	if p.limit > 0 {
		p.overdue = time.AfterFunc(p.limit, func() { d.checkPulse(a) })
	}
	if p.every > 0 {
		p.auto = time.AfterFunc(p.every, func() { d.autoBeat(a) })
	}
}

// stop ends the waiting. What was not stored is still there for the report on the attempt.
func (p *pulse) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, timer := range []*time.Timer{p.overdue, p.auto} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// heartbeat takes new details from the code or the completer of an attempt.
func (d *Dispatcher) heartbeat(a *attempt, details []byte) {
	p := &a.pulse
	p.mu.Lock()
	if p.over { // leaked code beats on
		p.mu.Unlock()
		return
	}
	p.details, p.last = details, time.Now()
	p.given++
	due, tell := p.enqueue()
	p.mu.Unlock()
	if tell {
		d.manage.beats(a, due)
	}
}

// autoBeat is a heartbeat without details: it keeps those that the code gave. The lease is renewed with it, so that a
// cancellation of which the node was not told is heard.
func (d *Dispatcher) autoBeat(a *attempt) {
	p := &a.pulse
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	p.last, p.ask = time.Now(), true
	p.auto.Reset(p.every)
	due, tell := p.enqueue()
	p.mu.Unlock()
	if tell {
		d.manage.beats(a, due)
	}
}

// checkPulse ends an attempt that gave no sign of life for too long. Who has its token may have given one to the store: the
// manager looks there first, and then comes here again.
func (d *Dispatcher) checkPulse(a *attempt) {
	if !a.pulse.silent() {
		return
	}
	if !a.shared.Load() {
		a.cancel(&activity.TimeoutError{Kind: activity.NoHeartbeat})
		return
	}
	a.pulse.mu.Lock()
	a.pulse.ask = true
	due, tell := a.pulse.enqueue()
	a.pulse.mu.Unlock()
	if tell {
		d.manage.beats(a, due)
	}
}

// silent tells whether the attempt is over its heartbeat timeout; if not, it looks again when it may be.
func (p *pulse) silent() bool {
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

// heard notes a sign of life that somebody else gave.
func (p *pulse) heard(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at.After(p.last) {
		p.last = at
	}
}

// enqueue answers when the manager is to send something, if it does not know that. p is locked.
func (p *pulse) enqueue() (due time.Time, tell bool) {
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

// take answers the details that are to be sent now, and up to which they go; 0: none are, or not yet.
func (p *pulse) take(now time.Time) (details []byte, upTo int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued, p.ask = false, false
	if p.given == p.taken || now.Before(p.sent.Add(p.throttle)) {
		return nil, 0
	}
	p.taken, p.sent = p.given, now
	return p.details, p.given
}

// kept notes that the store has what was taken.
func (p *pulse) kept(upTo int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored = max(p.stored, upTo)
}

// lost notes that what was taken may not be stored: it is sent with the next renewal.
func (p *pulse) lost(upTo int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if upTo > 0 {
		p.taken, p.sent = p.stored, time.Time{}
	}
}

// unsaved answers the last details if it is not known that the store has them, nil if it is.
func (p *pulse) unsaved() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.given == p.stored {
		return nil
	}
	return p.details
}
