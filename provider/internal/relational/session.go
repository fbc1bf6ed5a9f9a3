package relational

import (
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// SessionRows are the sessions of tasks: who holds which, and until when.
type SessionRows interface {
	// TasksWatched tells whether it matters to anyone that tasks end, of which otherwise nothing but the name is known then: whether
	// there are sessions, or a fetch of this process waits for a place in a queue.
	TasksWatched() (bool, error)
	// UseSession notes that somebody works on a task of a session, if its owner holds the session still, before that changes the task.
	UseSession(task *Task) error
	// ExtendSessions makes the sessions that an owner holds last so long from now on, and counts them.
	ExtendSessions(owner string, lease time.Duration) (held int, err error)
}

// sessionEnds tells fetches that wait when a session may be over.
func (t *Tx) sessionEnds(lease time.Duration) { t.WakeElapsed(t.Elapsed + lease.Microseconds()) }

// use notes that somebody works on a task, before that changes it.
func (t *Tx) use(task *Task) error {
	if task.Session == "" {
		return nil
	}
	return t.Rows.UseSession(task)
}

// endLease is use of a task whose lease ends with it, whatever comes then.
func (t *Tx) endLease(task *Task) error {
	if task.State == provider.TaskLeased {
		t.Free(task.Kind)
	}
	return t.use(task)
}

// Free tells fetches that wait that a task of the kind is not leased any more.
func (t *Tx) Free(kind int64) {
	if t.Effects.Freed == nil {
		t.Effects.Freed = make(map[int64]struct{})
	}
	t.Effects.Freed[kind] = struct{}{}
}

// Gated tells whether limits of queues or sessions may ever have a say in what a fetch may have.
func Gated(req *provider.FetchTasksRequest) bool { return req.Sessions.Max > 0 || Bounded(req) }

// Minds tells whether they have it now. Fetches claim sessions as a rule, and a store without tasks of sessions must not pay for that.
func Minds(req *provider.FetchTasksRequest, kinds *Kinds) bool {
	return Bounded(req) || req.Sessions.Max > 0 && kinds.Sessions()
}

// Bounded tells whether a fetch keeps to limits of queues.
func Bounded(req *provider.FetchTasksRequest) bool {
	return slices.ContainsFunc(req.Queues, func(q provider.QueueFilter) bool { return q.MaxLeased > 0 })
}

// Limits answers how many tasks of each queue may be leased at once, for the queues of a fetch that have a limit.
func Limits(req *provider.FetchTasksRequest) map[string]int {
	limits := make(map[string]int)
	for _, q := range req.Queues {
		if limit, known := limits[q.Queue]; q.MaxLeased > 0 && (!known || q.MaxLeased < limit) {
			limits[q.Queue] = q.MaxLeased
		}
	}
	return limits
}

// WaitsFor tells whether a fetch may go on because a task of the kind is not leased any more, in a queue with a limit or a session.
func WaitsFor(req *provider.FetchTasksRequest, kind TaskKind) bool {
	return kind.Class&InSession != 0 && req.Sessions.Max > 0 ||
		slices.ContainsFunc(req.Queues, func(q provider.QueueFilter) bool { return q.MaxLeased > 0 && q.Queue == kind.Queue })
}
