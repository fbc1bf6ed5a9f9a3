package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// tasks holds the pending activity tasks and their sessions.
type tasks struct {
	*store

	instances   *instances
	inboxes     *inboxes
	deadLetters *deadLetters
	byRef       map[provider.TaskRef]*task
	sessions    map[string]*session // by ID, including some that have no holder
}

// A task is a pending activity task. Its token holds it until another lease replaces it. An expired lease only makes the task
// fetchable.
type task struct {
	provider.TaskRef

	instanceID string
	queue      string
	name       string
	payload    []byte
	priority   int
	fairness   string
	session    string
	limit      string
	turn       provider.Time // see rank.go
	notBefore  provider.Time
	startBy    provider.Time
	deadline   provider.Time
	scheduled  provider.Time

	state      provider.TaskState
	token      provider.UUID
	owner      string
	leaseUntil provider.Time
	attempt    int64
	deliveries int64
	begun      bool
	cancel     bool
	details    []byte
	failure    []byte
}

// schedule stores a task of the current execution, leased if it is handed off.
func (ts *tasks) schedule(i *instance, n *provider.NewTask, now provider.Time) *task {
	t := &task{
		TaskRef:    provider.TaskRef{Key: i.row.Key, Execution: i.row.Execution, EventID: n.EventID},
		instanceID: i.row.ID, queue: n.Queue, name: n.Name, payload: slices.Clone(n.Payload),
		priority: cmp.Or(n.Priority, provider.PriorityDefault), fairness: n.FairnessKey, session: n.Session, limit: n.LimitKey,
		notBefore: now.Add(n.NotBefore), scheduled: now, state: provider.TaskQueued, attempt: 1,
	}
	if n.StartBy > 0 {
		t.startBy = now.Add(n.StartBy)
	}
	if n.Deadline > 0 {
		t.deadline = now.Add(n.Deadline)
	}
	if n.Lease != nil {
		t.take(n.Lease.Token, n.Lease.Owner, now, n.Lease.Duration)
	}
	ts.byRef[t.TaskRef] = t
	return t
}

// requeued returns the task as it is queued again after it was a dead letter: without its times and attempts.
func (t *task) requeued() provider.NewTask {
	return provider.NewTask{
		EventID: t.EventID, Queue: t.queue, Name: t.name, Payload: t.payload, Priority: t.priority, FairnessKey: t.fairness, Session: t.session, LimitKey: t.limit,
	}
}

// take leases the task, for work unless it is past its time.
func (t *task) take(token provider.UUID, owner string, now provider.Time, lease time.Duration) {
	t.begun = t.begun || !t.late(now)
	t.state, t.token, t.owner, t.leaseUntil = provider.TaskLeased, token, owner, now.Add(lease)
	t.deliveries++
	t.turn = 0
}

// queueAt ends the lease.
func (t *task) queueAt(at provider.Time) {
	t.state, t.notBefore = provider.TaskQueued, at
	t.token, t.owner, t.leaseUntil = provider.UUID{}, "", 0
}

// cancelTasks applies the cancellations of a commit. A parked task counts as leased: its holder still renews, and so learns of
// the cancellation.
func (ts *tasks) cancel(req *provider.CommitTurnRequest, now provider.Time) {
	for _, c := range req.CancelTasks {
		t := ts.byRef[provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: c.EventID}]
		if t == nil {
			continue
		}
		held := t.state == provider.TaskParked || (t.state == provider.TaskLeased && t.leaseUntil > now)
		if held {
			t.cancel = true
			ts.notice(t.Key, t.Execution, t.EventID)
		}
		if !held || c.Remove {
			delete(ts.byRef, t.TaskRef)
		}
	}
}

// state returns the state of the execution that wants a result.
func (ts *tasks) state(ref provider.TaskRef) provider.ExecutionState {
	i := ts.instances.byKey[ref.Key]
	if i == nil || i.row.Deleting || i.status(ref.Execution) == 0 {
		return provider.ExecutionState{Kind: provider.ExecutionMissing}
	}
	if status := i.status(ref.Execution); status.Ended() {
		return provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: status}
	}
	return provider.ExecutionState{Kind: provider.ExecutionRunning}
}

// moved returns ErrMoved for a task of an instance that is closed for a move.
func (ts *tasks) moved(t *task) error {
	if t != nil {
		if i := ts.instances.byKey[t.Key]; i != nil && i.row.Deleting {
			return i.free()
		}
	}
	return nil
}

// timeUp is when the task is past its time, 0 for never.
func (t *task) timeUp() provider.Time {
	if t.begun {
		return t.deadline
	}
	return sooner(t.deadline, t.startBy)
}

func (t *task) late(now provider.Time) bool { return t.timeUp() != 0 && t.timeUp() <= now }

// fetchableAt is when the task is fetchable, as far as is known now, 0 for never. wanted means that the fetch names its queue and
// activity, expired that the fetch wants all tasks past their time. A parked task is fetchable only past its time, since no
// other call would report the timeout.
func (t *task) fetchableAt(wanted, expired bool, now provider.Time) provider.Time {
	var at provider.Time
	free, end := max(t.notBefore, t.leaseUntil), t.timeUp()
	if wanted && t.state != provider.TaskParked && (end == 0 || max(now, free) < end) {
		at = free
	}
	if expired && end != 0 {
		at = sooner(at, max(end, t.leaseUntil))
	}
	return at
}

func (t *task) leased(state provider.ExecutionState, rank, now provider.Time) provider.LeasedTask {
	return provider.LeasedTask{
		TaskRef: t.TaskRef, InstanceID: t.instanceID, Queue: t.queue, Name: t.name, Payload: slices.Clone(t.payload),
		Priority: t.priority, Attempt: t.attempt, Deliveries: t.deliveries, LeaseUntil: t.leaseUntil, State: state,
		CancelRequested: t.cancel, PastDeadline: t.late(now), ScheduledAt: t.scheduled, Rank: rank,
		StartBy: t.startBy, Deadline: t.deadline, Details: slices.Clone(t.details), Failure: slices.Clone(t.failure),
	}
}

// retrying reports whether the task is tried again: its code reported a failure, or a lease of this attempt was lost.
func (t *task) retrying() bool { return t.attempt > 1 || t.deliveries > 1 }
