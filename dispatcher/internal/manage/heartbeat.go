package manage

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/provider"
)

// heartbeatPause is the least time between two batches of heartbeats: those that come about together go together.
const heartbeatPause = 20 * time.Millisecond

// scheduleHeartbeat sets when the heartbeats of an attempt are to be sent.
func (m *Manager) scheduleHeartbeat(a *Attempt, due time.Time) {
	m.mu.Lock()
	h, ok := m.attempts[a.Ref]
	if !ok || h.a != a {
		m.mu.Unlock()
		return
	}
	if other, is := m.heartbeatsDue[h]; !is || due.Before(other) {
		m.heartbeatsDue[h] = due
	}
	early := latest(due, m.soonest).Before(m.next)
	m.mu.Unlock()
	if early {
		wake(m.wake)
	}
}

// planRest plans the heartbeats that are left, whose throttle has not passed.
func (m *Manager) planRest(h *leasedAttempt) {
	p := &h.a.heartbeats
	p.mu.Lock()
	due, schedule := p.enqueue()
	p.mu.Unlock()
	if schedule {
		m.scheduleHeartbeat(h.a, due)
	}
}

// sleep waits until the leases are to be renewed or, with beats, a heartbeat is to be sent. It reports false if there is
// nothing left to do.
func (m *Manager) sleep(working context.Context, renewal *time.Time, beats bool) bool {
	soonest := time.Now().Add(heartbeatPause)
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
	for _, due := range m.heartbeatsDue {
		if due = latest(due, soonest); due.Before(next) {
			next = due
		}
	}
	if due := latest(m.checkAt, soonest); len(m.toCheck) > 0 && due.Before(next) {
		next = due
	}
	m.next = next
	return next, ok
}

// due returns the attempts whose leases are to be renewed now, maybe all, and those with heartbeats to be sent.
func (m *Manager) due(renewal time.Time) (list []*leasedAttempt, all bool) {
	now := time.Now()
	if all = !now.Before(renewal); all {
		list = m.snapshot()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, due := range m.heartbeatsDue {
		if all || !due.After(now) {
			delete(m.heartbeatsDue, h)
			if !all {
				list = append(list, h)
			}
		}
	}
	return m.addChecks(list, all, now), all
}

func (m *Manager) snapshot() []*leasedAttempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*leasedAttempt, 0, len(m.attempts))
	for _, h := range m.attempts {
		all = append(all, h)
	}
	return all
}

// checkHeartbeats finds out whether holders of the attempts' tokens have sent heartbeats to the store, before a renewal
// covers their traces. It ends the attempts that are over their heartbeat timeout even so. A heartbeat between the check and the renewal is
// missed: three within the timeout are enough.
func (m *Manager) checkHeartbeats(working context.Context, list []*leasedAttempt) {
	ctx, cancel := context.WithTimeout(working, m.lease/6) // the leases of all wait
	defer cancel()
	seen := make(map[provider.UUID]*storedTasks)
	for _, h := range list {
		a := h.a
		if a.heartbeats.limit <= 0 || !a.shared.Load() {
			continue
		}
		if seen[a.Ref.Key] == nil {
			s, err := m.readTasks(ctx, a.Ref.Key)
			if err != nil {
				return // the next renewal checks again
			}
			seen[a.Ref.Key] = s
		}
		m.noteRenewal(h, seen[a.Ref.Key])
		if a.heartbeats.timedOut() {
			a.Cancel(&activity.TimeoutError{Kind: activity.NoHeartbeat})
		}
	}
}

// storedTasks is what the store has of the tasks of an instance.
type storedTasks struct {
	provider.GetResult

	requestedAt time.Time
}

func (m *Manager) readTasks(ctx context.Context, key provider.UUID) (*storedTasks, error) {
	s := &storedTasks{requestedAt: time.Now()}
	var err error
	s.GetResult, err = m.store.Get(ctx, provider.GetRequest{Key: key, WithTasks: true})
	return s, err
}

// noteRenewal takes a lease that somebody else has renewed: it ends later than this node asked for. Both sides of that are
// durations, so that the difference of the clocks does not count; they may run apart by a thousandth.
func (m *Manager) noteRenewal(h *leasedAttempt, s *storedTasks) {
	m.mu.Lock()
	own := h.answered.Add(s.requestedAt.Sub(h.answered) / 1000)
	m.mu.Unlock()
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.TaskRef != h.a.Ref || t.State != provider.TaskLeased || t.Owner != m.owner {
			continue
		}
		if renewed := s.requestedAt.Add(t.LeaseUntil.Sub(s.Now) - m.lease); renewed.After(own) {
			h.a.heartbeats.received(renewed)
		}
	}
}

// StartHeartbeats starts the heartbeat timeout and the automatic heartbeats of an attempt.
func (m *Manager) StartHeartbeats(a *Attempt, pace Pace) {
	p := &a.heartbeats
	p.throttle, p.limit, p.every = pace.Throttle, pace.Timeout, pace.Auto
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	if p.limit > 0 {
		p.overdue = time.AfterFunc(p.limit, func() { m.checkTimeout(a) })
	}
	if p.every > 0 {
		p.auto = time.AfterFunc(p.every, func() { m.autoHeartbeat(a) })
	}
}

// Heartbeat takes new details from the code or the completer of an attempt.
func (m *Manager) Heartbeat(a *Attempt, details []byte) {
	p := &a.heartbeats
	p.mu.Lock()
	if p.over { // leaked code sends heartbeats, too
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
	due, schedule := p.enqueue()
	p.mu.Unlock()
	if schedule {
		m.scheduleHeartbeat(a, due)
	}
}

// autoHeartbeat is a heartbeat without details: it keeps those that the code gave. The lease is renewed with it, so that the node learns of a
// cancellation that no notice brought.
func (m *Manager) autoHeartbeat(a *Attempt) {
	p := &a.heartbeats
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	p.last, p.ask = time.Now(), true
	p.auto.Reset(p.every)
	due, schedule := p.enqueue()
	p.mu.Unlock()
	if schedule {
		m.scheduleHeartbeat(a, due)
	}
}

// checkTimeout ends an attempt that has passed its heartbeat timeout. If others have its token, one of them may have sent a heartbeat to the
// store: the manager looks there first.
func (m *Manager) checkTimeout(a *Attempt) {
	if !a.heartbeats.timedOut() {
		return
	}
	if !a.shared.Load() {
		a.Cancel(&activity.TimeoutError{Kind: activity.NoHeartbeat})
		return
	}
	a.heartbeats.mu.Lock()
	a.heartbeats.ask = true
	due, schedule := a.heartbeats.enqueue()
	a.heartbeats.mu.Unlock()
	if schedule {
		m.scheduleHeartbeat(a, due)
	}
}
