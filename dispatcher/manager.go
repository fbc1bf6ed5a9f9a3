package dispatcher

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// manager keeps the leases of a node's attempts: it renews them in batches and turns what
// the storage says of their executions into cancellations.
type manager struct {
	d    *Dispatcher
	busy chan struct{} // has room for one: the first attempt since there was none
	late chan struct{} // has room for one: an attempt whose lease is to be renewed at once
	mu   sync.Mutex
	// attempts by task, the latest of each.
	attempts map[provider.TaskRef]*held
	coming   map[provider.TaskRef]error // see expect
	doubts   map[*held]struct{}         // of which there was a notice; see noticed
	doubted  time.Time                  // when to ask the storage about those
	sessions atomic.Int64               // that this node holds, as far as it was told
	beating  map[*held]time.Time        // when the heartbeats of some are to be sent
	next     time.Time                  // a heartbeat that is to be sent before it wakes the manager
	soonest  time.Time                  // none is sent before
	wake     chan struct{}              // has room for one
}

// held is an attempt with its lease.
type held struct {
	a     *attempt
	lease lease // renewed

	answered time.Time // when the storage had answered the last lease that this node asked for
	upTo     int64     // the details that are being sent
	told     bool      // its context was ended
	hint     bool      // there was a notice that it was asked to stop
}

func newManager(d *Dispatcher) *manager {
	return &manager{
		d: d, busy: make(chan struct{}, 1), late: make(chan struct{}, 1), attempts: make(map[provider.TaskRef]*held),
		coming: make(map[provider.TaskRef]error), doubts: make(map[*held]struct{}), beating: make(map[*held]time.Time), wake: make(chan struct{}, 1),
	}
}

// add takes over the lease of an attempt. An earlier attempt of the same task that still runs
// here has lost its own: nobody else would tell it.
func (m *manager) add(a *attempt) {
	m.mu.Lock()
	earlier, again := m.attempts[a.ref]
	delete(m.beating, earlier)
	delete(m.doubts, earlier)
	m.attempts[a.ref] = &held{a: a, lease: a.lease, answered: time.Now()}
	m.mu.Unlock()
	if again {
		earlier.a.cancel(errLeaseLost)
	}
	wake(m.busy)
	if a.lease.asked.until(thisMoment()) > m.d.cfg.Lease/3 {
		wake(m.late)
	}
}

// wake tells a loop that there is something to do, unless it has been told.
func wake(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

func (m *manager) remove(a *attempt) {
	m.mu.Lock()
	if h, ok := m.attempts[a.ref]; ok && h.a == a {
		delete(m.attempts, a.ref)
		delete(m.beating, h)
		delete(m.doubts, h)
	}
	m.mu.Unlock()
}

// cancel ends the context of an attempt at once if it runs here.
func (m *manager) cancel(ref provider.TaskRef, cause error) {
	m.mu.Lock()
	h, ok := m.attempts[ref]
	if ok {
		h.told = true
	}
	if _, soon := m.coming[ref]; soon {
		m.coming[ref] = cause
	}
	m.mu.Unlock()
	if ok {
		if errors.Is(cause, errCancelled) {
			h.a.unwanted.Store(true)
		}
		h.a.cancel(cause)
	}
}

// cancelExecution ends the contexts of all attempts for an execution that run here.
func (m *manager) cancelExecution(key provider.UUID, execution int64, cause error) {
	for _, h := range m.snapshot() {
		if h.a.ref.Key == key && h.a.ref.Execution == execution {
			h.a.cancel(cause)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, h := range m.attempts {
		h.told = h.told || ref.Key == key && ref.Execution == execution
	}
	for ref := range m.coming {
		if ref.Key == key && ref.Execution == execution {
			m.coming[ref] = cause
		}
	}
}

func (m *manager) snapshot() []*held {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*held, 0, len(m.attempts))
	for _, h := range m.attempts {
		all = append(all, h)
	}
	return all
}

// listen asks the storage for notices, if it has any, until stop is called. It comes before the
// first attempt: a notice that nobody hears costs a renewal period.
func (m *manager) listen() (stop func()) {
	if notifier, ok := provider.As[provider.Notifier](m.d.store.Provider); ok {
		return notifier.Notify(m.noticed)
	}
	return func() {}
}

// run renews leases while there are any.
func (m *manager) run(working context.Context) {
	for {
		select {
		case <-m.busy:
			m.keep(working)
		case <-working.Done():
			return
		}
	}
}

// keep renews leases, of attempts and of sessions, at a third of their length, and sends heartbeats as they are due, until none is left. When the
// storage fails it tries all again sooner; that alone cancels nothing before a lease is over.
func (m *manager) keep(working context.Context) {
	period := m.d.cfg.Lease / 3
	renewal := time.Now().Add(period)
	for failures := 0; m.sleep(working, &renewal, failures == 0); {
		due, all := m.due(renewal)
		if err := m.renew(working, due); err != nil {
			if working.Err() != nil || errors.Is(err, provider.ErrClosed) {
				return
			}
			failures++
			m.d.store.Failed("renew tasks", failures, err)
			renewal = time.Now().Add(min(storage.Backoff(failures), m.slack(m.snapshot())))
			continue
		}
		failures = 0
		if all {
			renewal = time.Now().Add(period)
		}
	}
}

func (m *manager) renew(working context.Context, all []*held) error {
	m.look(working, all)
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

// renewals asks for as many as fit into one request.
func (m *manager) renewals(list []*held) provider.RenewTasksRequest {
	req := provider.RenewTasksRequest{Lease: m.d.cfg.Lease}
	if m.sessions.Load() > 0 {
		req.Owner, req.SessionLease = m.d.cfg.Owner, m.d.cfg.Sessions.Lease
	}
	size := 0
	for _, h := range list[:min(len(list), provider.MaxBatch)] {
		details, upTo := h.a.pulse.take(time.Now())
		if size += len(details); size > provider.MaxCommitBytes && len(req.Items) > 0 {
			h.a.pulse.lost(upTo)
			break
		}
		h.upTo = upTo
		req.Items = append(req.Items, provider.TaskRenewal{TaskRef: h.a.ref, Token: h.a.token, Details: details})
	}
	return req
}

func (m *manager) renewBatch(working context.Context, batch []*held, req provider.RenewTasksRequest) error {
	ctx, cancel := context.WithTimeout(working, min(storage.CallTimeout, m.slack(batch)))
	defer cancel()
	asked := thisMoment()
	res, err := m.d.store.RenewTasks(ctx, req)
	if err != nil {
		for _, h := range batch {
			m.notRenewed(h)
		}
		return err
	}
	m.d.clock.Set(res.Now)
	if req.Owner != "" {
		m.holds(res.Sessions)
	}
	for i, h := range batch {
		m.renewed(h, &res.Items[i], asked)
	}
	return nil
}

// slack is how long a renewal may take, or wait to be repeated, before another lease can no longer be relied on.
func (m *manager) slack(list []*held) time.Duration {
	shortest, now := m.d.cfg.Lease/3, thisMoment()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range list {
		if left := h.lease.left(now); left > 0 {
			shortest = min(shortest, left)
		}
	}
	return shortest
}

// holds takes note of how many sessions this node holds.
func (m *manager) holds(sessions int) {
	if m.sessions.Swap(int64(sessions)) == 0 && sessions > 0 {
		wake(m.busy)
	}
}

// leaveSessions lets go of the sessions of a node that shuts down, so that others need not wait for its lease to end.
func (m *manager) leaveSessions(ctx context.Context) {
	if m.sessions.Load() == 0 {
		return
	}
	m.sessions.Store(0) // the loop does not extend them again
	_, err := m.d.store.RenewTasks(ctx, provider.RenewTasksRequest{
		Lease: m.d.cfg.Lease, Owner: m.d.cfg.Owner, SessionLease: time.Microsecond,
	})
	if err != nil {
		m.d.store.Failed("leave sessions", 1, err)
	}
}

// notRenewed gives up an attempt only when its lease may be over.
func (m *manager) notRenewed(h *held) {
	h.a.pulse.lost(h.upTo)
	m.mu.Lock()
	over := h.lease.left(thisMoment()) <= 0
	m.mu.Unlock()
	if over {
		h.a.cancel(errLeaseLost)
	}
}

// renewed takes over what the storage says of one attempt.
func (m *manager) renewed(h *held, item *provider.TaskRenewalResult, asked moment) {
	cause := stops(item)
	m.mu.Lock()
	if h.hint && errors.Is(cause, errOrchestrationEnded) { // it was cancelled first
		cause = errCancelled
	}
	h.told, h.hint = h.told || cause != nil, h.hint && cause != nil
	if item.Err == nil {
		h.lease.asked, h.answered = asked, time.Now()
	}
	m.mu.Unlock()
	if item.CancelRequested || errors.Is(cause, errCancelled) {
		h.a.unwanted.Store(true)
	}
	if cause != nil {
		h.a.cancel(cause)
	}
	if item.Err == nil && item.State.Kind == provider.ExecutionRunning {
		h.a.pulse.kept(h.upTo)
	}
	m.rest(h)
}

// stops returns why an attempt has to stop, by what the storage says of it; nil: it need not.
func stops(item *provider.TaskRenewalResult) error {
	switch {
	case item.State.Kind == provider.ExecutionMissing:
		return errOrchestrationMissing
	case item.State.Kind == provider.ExecutionTerminal:
		return errOrchestrationEnded
	case item.Err != nil:
		return errLeaseLost
	case item.CancelRequested:
		return errCancelled
	default:
		return nil
	}
}
