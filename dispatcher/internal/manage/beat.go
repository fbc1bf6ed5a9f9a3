package manage

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/provider"
)

// beatPause is the least time between two batches of heartbeats: those that come about together go together.
const beatPause = 20 * time.Millisecond

// beats sets when the heartbeats of an attempt are to be sent.
func (m *Manager) beats(a *Attempt, due time.Time) {
	m.mu.Lock()
	h, ok := m.attempts[a.Ref]
	if !ok || h.a != a {
		m.mu.Unlock()
		return
	}
	if other, is := m.beating[h]; !is || due.Before(other) {
		m.beating[h] = due
	}
	early := latest(due, m.soonest).Before(m.next)
	m.mu.Unlock()
	if early {
		wake(m.wake)
	}
}

// rest plans the heartbeats that are left, whose throttle has not passed.
func (m *Manager) rest(h *held) {
	p := &h.a.pulse
	p.mu.Lock()
	due, tell := p.enqueue()
	p.mu.Unlock()
	if tell {
		m.beats(h.a, due)
	}
}

// sleep waits until the leases are to be renewed or, with beats, a heartbeat is to be sent. It reports false if there is
// nothing left to do.
func (m *Manager) sleep(working context.Context, renewal *time.Time, beats bool) bool {
	soonest := time.Now().Add(beatPause)
	for {
		next, ok := m.plan(*renewal, soonest, beats)
		if !ok {
			return false
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
			return true
		case <-m.wake:
			timer.Stop()
		case <-m.late:
			timer.Stop()
			*renewal = time.Now()
			return true
		case <-working.Done():
			timer.Stop()
			return false
		}
	}
}

// plan returns when there is something to do next.
func (m *Manager) plan(renewal, soonest time.Time, beats bool) (next time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, m.next, m.soonest = renewal, time.Time{}, soonest
	ok = len(m.attempts) > 0 || m.sessions.Load() > 0
	if !beats {
		return next, ok
	}
	for _, due := range m.beating {
		if due = latest(due, soonest); due.Before(next) {
			next = due
		}
	}
	if due := latest(m.doubted, soonest); len(m.doubts) > 0 && due.Before(next) {
		next = due
	}
	m.next = next
	return next, ok
}

// due returns the attempts whose leases are to be renewed now, maybe all, and those with heartbeats to be sent.
func (m *Manager) due(renewal time.Time) (list []*held, all bool) {
	now := time.Now()
	if all = !now.Before(renewal); all {
		list = m.snapshot()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, due := range m.beating {
		if all || !due.After(now) {
			delete(m.beating, h)
			if !all {
				list = append(list, h)
			}
		}
	}
	return m.doubtful(list, all, now), all
}

func (m *Manager) snapshot() []*held {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*held, 0, len(m.attempts))
	for _, h := range m.attempts {
		all = append(all, h)
	}
	return all
}

// look finds out whether holders of the attempts' tokens have sent heartbeats to the store, before a renewal
// covers their traces. It ends the attempts that are over their heartbeat timeout even so. A heartbeat between the look and the renewal is
// missed: three within the timeout are enough.
func (m *Manager) look(working context.Context, list []*held) {
	ctx, cancel := context.WithTimeout(working, m.lease/6) // the leases of all wait
	defer cancel()
	seen := make(map[provider.UUID]*sight)
	for _, h := range list {
		a := h.a
		if a.pulse.limit <= 0 || !a.shared.Load() {
			continue
		}
		if seen[a.Ref.Key] == nil {
			s, err := m.sight(ctx, a.Ref.Key)
			if err != nil {
				return // the next renewal looks again
			}
			seen[a.Ref.Key] = s
		}
		m.hear(h, seen[a.Ref.Key])
		if a.pulse.silent() {
			a.Cancel(&activity.TimeoutError{Kind: activity.NoHeartbeat})
		}
	}
}

// sight is what the store has of the tasks of an instance.
type sight struct {
	provider.GetResult

	asked time.Time
}

func (m *Manager) sight(ctx context.Context, key provider.UUID) (*sight, error) {
	s := &sight{asked: time.Now()}
	var err error
	s.GetResult, err = m.store.Get(ctx, provider.GetRequest{Key: key, WithTasks: true})
	return s, err
}

// hear takes a lease that somebody else has renewed: it ends later than this node asked for. Both sides of that are
// durations, so that the difference of the clocks does not count; they may run apart by a thousandth.
func (m *Manager) hear(h *held, s *sight) {
	m.mu.Lock()
	own := h.answered.Add(s.asked.Sub(h.answered) / 1000)
	m.mu.Unlock()
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.TaskRef != h.a.Ref || t.State != provider.TaskLeased || t.Owner != m.owner {
			continue
		}
		if renewed := s.asked.Add(t.LeaseUntil.Sub(s.Now) - m.lease); renewed.After(own) {
			h.a.pulse.heard(renewed)
		}
	}
}

// StartBeating starts the heartbeat timeout and the automatic heartbeats of an attempt.
func (m *Manager) StartBeating(a *Attempt, pace Pace) {
	p := &a.pulse
	p.throttle, p.limit, p.every = pace.Throttle, pace.Timeout, pace.Auto
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	if p.limit > 0 {
		p.overdue = time.AfterFunc(p.limit, func() { m.checkPulse(a) })
	}
	if p.every > 0 {
		p.auto = time.AfterFunc(p.every, func() { m.autoBeat(a) })
	}
}

// Heartbeat takes new details from the code or the completer of an attempt.
func (m *Manager) Heartbeat(a *Attempt, details []byte) {
	p := &a.pulse
	p.mu.Lock()
	if p.over { // leaked code beats on
		p.mu.Unlock()
		return
	}
	p.last = time.Now()
	if details == nil {
		p.mu.Unlock()
		return
	}
	p.details = details
	p.given++
	due, tell := p.enqueue()
	p.mu.Unlock()
	if tell {
		m.beats(a, due)
	}
}

// autoBeat is a heartbeat without details: it keeps those that the code gave. The lease is renewed with it, so that the node learns of a
// cancellation that no notice brought.
func (m *Manager) autoBeat(a *Attempt) {
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
		m.beats(a, due)
	}
}

// checkPulse ends an attempt that has passed its heartbeat timeout. If others have its token, one of them may have sent a heartbeat to the
// store: the manager looks there first.
func (m *Manager) checkPulse(a *Attempt) {
	if !a.pulse.silent() {
		return
	}
	if !a.shared.Load() {
		a.Cancel(&activity.TimeoutError{Kind: activity.NoHeartbeat})
		return
	}
	a.pulse.mu.Lock()
	a.pulse.ask = true
	due, tell := a.pulse.enqueue()
	a.pulse.mu.Unlock()
	if tell {
		m.beats(a, due)
	}
}
