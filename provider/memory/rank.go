package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// add stores a task and gives it its turn among the tasks of its fairness key.
func (ts *tasks) add(i *instance, n *provider.NewTask, now provider.Time) {
	t := ts.schedule(i, n, now)
	if n.FairnessKey != "" && n.NotBefore == 0 && n.Lease == nil {
		ts.takeTurn(t, now)
	}
}

// byRank orders fetchable tasks. The comparison of keys only makes the order certain.
func byRank(now provider.Time) func(a, b *task) int {
	return func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.rank(now), b.rank(now)), cmp.Compare(a.scheduled, b.scheduled), cmp.Compare(a.EventID, b.EventID),
			slices.Compare(a.Key[:], b.Key[:]), cmp.Compare(a.Execution, b.Execution))
	}
}

// lateRank comes before the ranks of all tasks that are not late.
const lateRank = -1 << 62

// rank is the position of a task in the order of fetching. Tasks past their time come first.
func (t *task) rank(now provider.Time) provider.Time {
	if t.late(now) {
		return lateRank + t.place(now)
	}
	return t.place(now)
}

// place is the position of a task among those past their time, or among the others.
func (t *task) place(now provider.Time) provider.Time {
	if t.late(now) {
		return t.timeUp()
	}
	bonus := time.Duration(provider.PriorityDefault-t.priority) * provider.PriorityStep
	return cmp.Or(t.turn, t.notBefore).Add(-bonus)
}

// takeTurn gives a new task with a fairness key its place among the tasks that wait for their first lease. It is start-time fair
// queueing (Goyal, Vin and Cheng, 1996): a task starts when the previous one of its key ends, after a FairnessStep, and not
// before the virtual time, which is the start of the first waiting task.
func (ts *tasks) takeTurn(t *task, now provider.Time) {
	var first, last provider.Time
	for _, other := range ts.byRef {
		if other.turn == 0 || other.queue != t.queue || ts.instances.byKey[other.Key].row.Status == provider.StatusSuspended {
			continue
		}
		first = sooner(first, other.turn)
		if other.fairness == t.fairness {
			last = max(last, other.turn.Add(provider.FairnessStep))
		}
	}
	t.turn = max(now, cmp.Or(last, first))
}
