package manage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// noticePause is how long a notice waits before the storage is asked. Notices that come together cost one call. A commit of this
// node ends its attempts meanwhile, so that the notice of it costs none.
const noticePause = 2 * time.Millisecond

// errNoticed marks a task that has not begun and had a notice.
var errNoticed = errors.New("there was a notice")

// noticed takes a notice that a task was asked to stop, or that an execution has ended. Others may have invented that. So the
// leases concerned are renewed soon, and what the storage then says counts.
func (m *Manager) noticed(n provider.Notice) {
	m.mu.Lock()
	if n.EventID != 0 {
		ref := provider.TaskRef(n)
		if h, ok := m.attempts[ref]; ok {
			h.stopNoticed = true
		}
		m.checkSoon(ref)
	} else {
		for ref := range m.attempts {
			if ref.Key == n.Key && ref.Execution == n.Execution {
				m.checkSoon(ref)
			}
		}
		for ref := range m.expected {
			if ref.Key == n.Key && ref.Execution == n.Execution {
				m.checkSoon(ref)
			}
		}
	}
	early := len(m.toCheck) > 0 && latest(m.checkAt, m.soonest).Before(m.next)
	m.mu.Unlock()
	if early {
		wake(m.wake)
	}
}

// wake wakes a loop, which may be awake.
func wake(loop chan struct{}) {
	select {
	case loop <- struct{}{}:
	default:
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// checkSoon makes the manager ask the storage about a task. m is locked.
func (m *Manager) checkSoon(ref provider.TaskRef) {
	if cause, soon := m.expected[ref]; soon && cause == nil {
		m.expected[ref] = errNoticed
	}
	h, ok := m.attempts[ref]
	if !ok || h.cancelled {
		return
	}
	if len(m.toCheck) == 0 {
		m.checkAt = time.Now().Add(noticePause)
	}
	m.toCheck[h] = struct{}{}
}

// addChecks adds to list the attempts to check with the storage now, and forgets them. If all is true, list already has
// all attempts. The caller holds the lock.
func (m *Manager) addChecks(list []*leasedAttempt, all bool, now time.Time) []*leasedAttempt {
	if !all && m.checkAt.After(now) {
		return list
	}
	for h := range m.toCheck {
		if !all && !h.cancelled && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	clear(m.toCheck)
	return list
}

// CheckTask asks the storage about a task that had a notice before it began. If that fails, the renewals of its attempt ask again.
func (m *Manager) CheckTask(ctx context.Context, task *provider.LeasedTask, token provider.UUID) {
	ctx, cancel := context.WithTimeout(ctx, storage.CallTimeout)
	defer cancel()
	item := provider.TaskRenewal{TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef)}
	res, err := m.store.RenewTasks(ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{item}, Lease: m.lease})
	if err != nil {
		m.store.Failed("look at a task", 1, err)
		return
	}
	task.State, task.CancelRequested = res.Items[0].State, res.Items[0].CancelRequested
	if res.Items[0].Err != nil { // the storage refuses the report on it, too
		task.State.Kind = provider.ExecutionMissing
	}
}

// Expect announces tasks that wait for their moment, so that their cancellation is noticed before they begin.
func (m *Manager) Expect(tasks []provider.LeasedTask) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range tasks {
		m.expected[tasks[i].TaskRef] = nil
	}
}

// Arrived ends Expect for one task, and sets at the task what is known of it. It reports whether the caller must CheckTask it.
func (m *Manager) Arrived(task *provider.LeasedTask) (mustCheck bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch cause := m.expected[task.TaskRef]; {
	case errors.Is(cause, activity.ErrCancelled):
		task.CancelRequested = true
	case errors.Is(cause, activity.ErrOrchestrationEnded):
		task.State.Kind = provider.ExecutionTerminal
	}
	mustCheck = errors.Is(m.expected[task.TaskRef], errNoticed)
	delete(m.expected, task.TaskRef)
	return mustCheck
}
