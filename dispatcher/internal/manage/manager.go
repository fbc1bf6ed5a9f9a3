// Package manage is the activity manager of a node. It renews leases and sends heartbeats. It cancels the context of an
// attempt when the storage reports a change of its execution.
package manage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Manager keeps the leases of a node's attempts: it renews them in batches and turns what
// the storage says of their executions into cancellations. The methods may be called from several goroutines at once.
type Manager struct {
	store        *storage.Store
	owner        string
	lease        time.Duration
	sessionClaim provider.SessionClaim

	busy chan struct{} // has room for one: the first attempt since there was none
	late chan struct{} // has room for one: an attempt whose lease is to be renewed at once
	mu   sync.Mutex
	// attempts by task, the latest of each.
	attempts      map[provider.TaskRef]*leasedAttempt
	expected      map[provider.TaskRef]error   // see Expect
	toCheck       map[*leasedAttempt]struct{}  // had a notice; see noticed
	checkAt       time.Time                    // when to ask the storage about those
	sessions      atomic.Int64                 // that this node holds, as far as it knows
	heartbeatsDue map[*leasedAttempt]time.Time // when heartbeats are to be sent
	next          time.Time                    // a heartbeat that is to be sent before it wakes the manager
	soonest       time.Time                    // none is sent before
	wake          chan struct{}                // has room for one
}

// leasedAttempt is an attempt with its lease.
type leasedAttempt struct {
	a     *Attempt
	lease Lease // renewed

	answered    time.Time // when the storage returned the last lease that this node asked for
	upTo        int64     // the details that are being sent
	cancelled   bool      // its context was ended
	stopNoticed bool      // there was a notice that it was asked to stop
}

// Options of a Manager.
type Options struct {
	Owner    string
	Lease    time.Duration
	Sessions provider.SessionClaim
}

// New returns a manager without attempts.
func New(store *storage.Store, o Options) *Manager {
	return &Manager{
		store: store, owner: o.Owner, lease: o.Lease, sessionClaim: o.Sessions,
		busy: make(chan struct{}, 1), late: make(chan struct{}, 1), attempts: make(map[provider.TaskRef]*leasedAttempt),
		expected: make(map[provider.TaskRef]error), toCheck: make(map[*leasedAttempt]struct{}),
		heartbeatsDue: make(map[*leasedAttempt]time.Time), wake: make(chan struct{}, 1),
	}
}

// Add takes over the lease of an attempt. An earlier attempt of the same task that still runs
// here has lost its lease: Add cancels it.
func (m *Manager) Add(a *Attempt) {
	m.mu.Lock()
	earlier, replaced := m.attempts[a.Ref]
	delete(m.heartbeatsDue, earlier)
	delete(m.toCheck, earlier)
	m.attempts[a.Ref] = &leasedAttempt{a: a, lease: a.Lease, answered: time.Now()}
	m.mu.Unlock()
	if replaced {
		earlier.a.Cancel(activity.ErrLeaseLost)
	}
	wake(m.busy)
	if a.Lease.requested.until(ThisMoment()) > m.lease/3 {
		wake(m.late)
	}
}

// Remove ends the renewals of an attempt.
func (m *Manager) Remove(a *Attempt) {
	m.mu.Lock()
	if h, ok := m.attempts[a.Ref]; ok && h.a == a {
		delete(m.attempts, a.Ref)
		delete(m.heartbeatsDue, h)
		delete(m.toCheck, h)
	}
	m.mu.Unlock()
}

// Cancel ends the context of a task's attempt if one runs here.
func (m *Manager) Cancel(ref provider.TaskRef, cause error) {
	m.mu.Lock()
	h, ok := m.attempts[ref]
	if ok {
		h.cancelled = true
	}
	if _, soon := m.expected[ref]; soon {
		m.expected[ref] = cause
	}
	m.mu.Unlock()
	if ok {
		if errors.Is(cause, activity.ErrCancelled) {
			h.a.unwanted.Store(true)
		}
		h.a.Cancel(cause)
	}
}

// CancelExecution ends the contexts of all attempts for an execution that run here.
func (m *Manager) CancelExecution(key provider.UUID, execution int64, cause error) {
	for _, h := range m.snapshot() {
		if h.a.Ref.Key == key && h.a.Ref.Execution == execution {
			h.a.Cancel(cause)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, h := range m.attempts {
		h.cancelled = h.cancelled || ref.Key == key && ref.Execution == execution
	}
	for ref := range m.expected {
		if ref.Key == key && ref.Execution == execution {
			m.expected[ref] = cause
		}
	}
}

// Running returns all attempts.
func (m *Manager) Running() []*Attempt {
	list := m.snapshot()
	all := make([]*Attempt, len(list))
	for i, h := range list {
		all[i] = h.a
	}
	return all
}

// Listen asks the storage for notices, if it has any, until stop is called. It comes before the
// first attempt: a notice that is missed costs a renewal period.
func (m *Manager) Listen() (stop func()) {
	if notifier, ok := provider.As[provider.Notifier](m.store.Provider); ok {
		return notifier.Notify(m.noticed)
	}
	return func() {}
}

// Run renews leases while there are any, until ctx is finished.
func (m *Manager) Run(working context.Context) {
	for {
		select {
		case <-m.busy:
			m.renewLoop(working)
		case <-working.Done():
			return
		}
	}
}

// renewLoop renews leases, of attempts and of sessions, at a third of their length, and sends heartbeats as they are due, until none is left.
// When the storage fails it tries all again sooner. That alone cancels nothing before a lease has expired.
func (m *Manager) renewLoop(working context.Context) {
	period := m.lease / 3
	renewal := time.Now().Add(period)
	for failures := 0; m.sleep(working, &renewal, failures == 0); {
		due, all := m.due(renewal)
		if err := m.renew(working, due); err != nil {
			if working.Err() != nil || errors.Is(err, provider.ErrClosed) {
				return
			}
			failures++
			m.store.Failed("renew tasks", failures, err)
			renewal = time.Now().Add(min(storage.Backoff(failures), m.slack(m.snapshot())))
			continue
		}
		failures = 0
		if all {
			renewal = time.Now().Add(period)
		}
	}
}

func (m *Manager) renew(working context.Context, all []*leasedAttempt) error {
	m.checkHeartbeats(working, all)
	var first error
	for len(all) > 0 || m.sessions.Load() > 0 {
		req := m.renewals(all)
		n := len(req.Items)
		if err := m.renewBatch(working, all[:n], req); err != nil && first == nil {
			first = err
		}
		if all = all[n:]; len(all) == 0 {
			break
		}
	}
	return first
}

// renewals returns a request with as many attempts as fit into it.
func (m *Manager) renewals(list []*leasedAttempt) provider.RenewTasksRequest {
	req := provider.RenewTasksRequest{Lease: m.lease}
	if m.sessions.Load() > 0 {
		req.Owner, req.SessionLease = m.owner, m.sessionClaim.Lease
	}
	size := 0
	for _, h := range list[:min(len(list), provider.MaxBatch)] {
		details, upTo := h.a.heartbeats.take(time.Now())
		if size += len(details); size > provider.MaxCommitBytes && len(req.Items) > 0 {
			h.a.heartbeats.markUnsent(upTo)
			break
		}
		h.upTo = upTo
		req.Items = append(req.Items, provider.TaskRenewal{TaskRef: h.a.Ref, Token: h.a.Token, Details: details})
	}
	return req
}

func (m *Manager) renewBatch(working context.Context, batch []*leasedAttempt, req provider.RenewTasksRequest) error {
	ctx, cancel := context.WithTimeout(working, min(storage.CallTimeout, m.slack(batch)))
	defer cancel()
	requested := ThisMoment()
	res, err := m.store.RenewTasks(ctx, req)
	if err != nil {
		for _, h := range batch {
			m.notRenewed(h)
		}
		return err
	}
	m.store.Clock.Set(res.Now)
	if req.Owner != "" {
		m.SetSessions(res.Sessions)
	}
	for i, h := range batch {
		m.renewed(h, &res.Items[i], requested)
	}
	return nil
}

// slack returns how long a renewal may take, or wait to be repeated, before another lease can no longer be relied on.
func (m *Manager) slack(list []*leasedAttempt) time.Duration {
	shortest, now := m.lease/3, ThisMoment()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range list {
		if left := h.lease.remaining(now); left > 0 {
			shortest = min(shortest, left)
		}
	}
	return shortest
}

// SetSessions sets how many sessions this node holds.
func (m *Manager) SetSessions(sessions int) {
	if m.sessions.Swap(int64(sessions)) == 0 && sessions > 0 {
		wake(m.busy)
	}
}

// Sessions returns how many sessions the node holds, as its last call that counted them has found.
func (m *Manager) Sessions() int { return int(m.sessions.Load()) }

// LeaveSessions releases the sessions of a node that shuts down, so that others need not wait until their leases expire.
func (m *Manager) LeaveSessions(ctx context.Context) {
	if m.sessions.Load() == 0 {
		return
	}
	m.sessions.Store(0) // the loop does not extend them again
	_, err := m.store.RenewTasks(ctx, provider.RenewTasksRequest{
		Lease: m.lease, Owner: m.owner, SessionLease: time.Microsecond,
	})
	if err != nil {
		m.store.Failed("leave sessions", 1, err)
	}
}

// notRenewed cancels an attempt if its lease may have expired.
func (m *Manager) notRenewed(h *leasedAttempt) {
	h.a.heartbeats.markUnsent(h.upTo)
	m.mu.Lock()
	over := h.lease.remaining(ThisMoment()) <= 0
	m.mu.Unlock()
	if over {
		h.a.Cancel(activity.ErrLeaseLost)
	}
}

// renewed takes over what the storage says of one attempt.
func (m *Manager) renewed(h *leasedAttempt, item *provider.TaskRenewalResult, requested Moment) {
	cause := stops(item)
	m.mu.Lock()
	if h.stopNoticed && errors.Is(cause, activity.ErrOrchestrationEnded) { // it was cancelled first
		cause = activity.ErrCancelled
	}
	h.cancelled, h.stopNoticed = h.cancelled || cause != nil, h.stopNoticed && cause != nil
	if item.Err == nil {
		h.lease.requested, h.answered = requested, time.Now()
	}
	m.mu.Unlock()
	if item.CancelRequested || errors.Is(cause, activity.ErrCancelled) {
		h.a.unwanted.Store(true)
	}
	if cause != nil {
		h.a.Cancel(cause)
	}
	if item.Err == nil && item.State.Kind == provider.ExecutionRunning {
		h.a.heartbeats.markStored(h.upTo)
	}
	m.planRest(h)
}

// CancelCompleted cancels attempts whose results are in the history: others with their tokens have completed them. The attempts learn it at once, and
// not with the next renewal.
func (m *Manager) CancelCompleted(key provider.UUID, execution int64, events []history.Event) {
	for i := range events {
		switch b := events[i].Body.(type) {
		case *history.ActivityCompleted:
			m.Cancel(provider.TaskRef{Key: key, Execution: execution, EventID: b.Scheduled}, activity.ErrAlreadyCompleted)
		case *history.ActivityFailed:
			m.Cancel(provider.TaskRef{Key: key, Execution: execution, EventID: b.Scheduled}, activity.ErrAlreadyCompleted)
		}
	}
}

// stops returns why an attempt has to stop, by what the storage says of it; nil: it need not.
func stops(item *provider.TaskRenewalResult) error {
	switch {
	case item.State.Kind == provider.ExecutionMissing:
		return activity.ErrOrchestrationMissing
	case item.State.Kind == provider.ExecutionTerminal:
		return activity.ErrOrchestrationEnded
	case item.Err != nil:
		return activity.ErrLeaseLost
	case item.CancelRequested:
		return activity.ErrCancelled
	default:
		return nil
	}
}
