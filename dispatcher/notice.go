package dispatcher

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/provider"
)

// noticePause is how long a notice waits before the storage is asked. Notices that come together cost one call. A commit of this
// node ends its attempts meanwhile, so that the notice of it costs none.
const noticePause = 2 * time.Millisecond

// errDoubt marks a task that has not begun and of which there was a notice.
var errDoubt = errors.New("there was a notice")

// noticed hears that a task was asked to stop, or that an execution has ended. Others may have invented that. So the
// leases concerned are renewed soon, and the answers count.
func (m *manager) noticed(n provider.Notice) {
	m.mu.Lock()
	if n.EventID != 0 {
		ref := taskRef(n.Key, n.Execution, n.EventID)
		if h, ok := m.attempts[ref]; ok {
			h.hint = true
		}
		m.doubt(ref)
	} else {
		for ref := range m.attempts {
			if ref.Key == n.Key && ref.Execution == n.Execution {
				m.doubt(ref)
			}
		}
		for ref := range m.coming {
			if ref.Key == n.Key && ref.Execution == n.Execution {
				m.doubt(ref)
			}
		}
	}
	early := len(m.doubts) > 0 && latest(m.doubted, m.soonest).Before(m.next)
	m.mu.Unlock()
	if early {
		wake(m.wake)
	}
}

// doubt has the storage asked about a task. m is locked.
func (m *manager) doubt(ref provider.TaskRef) {
	if cause, soon := m.coming[ref]; soon && cause == nil {
		m.coming[ref] = errDoubt
	}
	h, ok := m.attempts[ref]
	if !ok || h.told {
		return
	}
	if len(m.doubts) == 0 {
		m.doubted = time.Now().Add(noticePause)
	}
	m.doubts[h] = struct{}{}
}

// doubtful returns list with the attempts about which the storage is to be asked now, and forgets them; all says
// that list has all attempts. m is locked.
func (m *manager) doubtful(list []*held, all bool, now time.Time) []*held {
	if !all && m.doubted.After(now) {
		return list
	}
	for h := range m.doubts {
		if !all && !h.told && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	clear(m.doubts)
	return list
}

// lookAt asks the storage about a task of which there was a notice before it began. When that fails, the renewals of
// its attempt will tell.
func (d *Dispatcher) lookAt(working context.Context, task *provider.LeasedTask, token provider.UUID) {
	ctx, cancel := context.WithTimeout(working, storage.CallTimeout)
	defer cancel()
	item := provider.TaskRenewal{TaskRef: task.TaskRef, Token: provider.TaskToken(token, task.TaskRef)}
	res, err := d.store.RenewTasks(ctx, provider.RenewTasksRequest{Items: []provider.TaskRenewal{item}, Lease: d.cfg.Lease})
	if err != nil {
		d.store.Failed("look at a task", 1, err)
		return
	}
	task.State, task.CancelRequested = res.Items[0].State, res.Items[0].CancelRequested
	if res.Items[0].Err != nil { // the storage refuses the report on it, too
		task.State.Kind = provider.ExecutionMissing
	}
}
