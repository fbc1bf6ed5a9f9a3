package sqlite

import (
	"cmp"
	"math"
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlFindTasks = `SELECT key, execution, event_id, fetch_at, scheduled_at FROM perdure_task INDEXED BY perdure_task_fetch
		WHERE kind = ? AND fetch_at <= ? AND (expire_at IS NULL OR expire_at > ?)
		ORDER BY fetch_at, scheduled_at, event_id LIMIT ?`
	// A rank delays nothing. Tasks that an older release has delayed are of a ranked kind, too.
	sqlFindRanked = `SELECT key, execution, event_id, fetch_at, scheduled_at FROM perdure_task INDEXED BY perdure_task_fetch
		WHERE kind = ?1 AND fetch_at IS NOT NULL AND (fetch_at <= ?2 OR fetch_at = rank_at) AND (expire_at IS NULL OR expire_at > ?2)
		ORDER BY fetch_at, scheduled_at, event_id LIMIT ?3`
	// These read the index alone, and the row alone, for a search that must get past damaged rows.
	sqlTaskKeys = `SELECT key, execution, event_id, fetch_at, scheduled_at FROM perdure_task INDEXED BY perdure_task_fetch
		WHERE kind = ? AND fetch_at <= ? ORDER BY fetch_at, scheduled_at, event_id`
	sqlTaskFetchable = `SELECT (fetch_at <= ?1 OR fetch_at IS rank_at) AND (expire_at IS NULL OR expire_at > ?1)
		FROM perdure_task WHERE key = ?2 AND execution = ?3 AND event_id = ?4`
	sqlFindExpired = `SELECT key, execution, event_id, expire_at, scheduled_at FROM perdure_task WHERE expire_at <= ?
		ORDER BY expire_at LIMIT ?`
	sqlLeaseTask = `UPDATE perdure_task SET state = 2, token = ?, owner = ?, lease_until = ?, deliveries = deliveries + 1,
		fetch_at = NULL, expire_at = NULL WHERE key = ? AND execution = ? AND event_id = ?`
	sqlLeaseRanked = `UPDATE perdure_task SET state = 2, token = ?, owner = ?, lease_until = ?, deliveries = deliveries + 1,
		fetch_at = NULL, expire_at = NULL, rank_at = NULL, kind = coalesce(?, kind) WHERE key = ? AND execution = ? AND event_id = ?`
	sqlBeginTask = `UPDATE perdure_task SET begun = 1 WHERE key = ? AND execution = ? AND event_id = ?`
	sqlTask      = `SELECT kind, attempt, deliveries, cancel, scheduled_at, deadline_at, payload, details, failure, sum, start_by_at, begun
		FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
)

// A taskFetch is one waiting FetchTasks. The writer owns it until the call is done.
type taskFetch struct {
	req     provider.FetchTasksRequest
	filters map[relational.TaskFilter]struct{}
	res     provider.FetchTasksResult
}

// lateRank is before all ranks of tasks that are not late.
const lateRank = math.MinInt64 / 2

// A taskPlace is a task that may be taken, and its place in the order.
type taskPlace struct {
	provider.TaskRef
	late      bool
	ranked    bool
	at        int64
	scheduled int64
	kind      int64 // that it will have; 0: the same
}

func (f *taskFetch) wants(t *tx) bool {
	if f.req.Expired && t.Effects.Expired {
		return true
	}
	for id := range t.Effects.Tasks {
		kind := t.kinds.ByTask[id]
		if _, ok := f.filters[kind.TaskFilter]; ok && (kind.Class&relational.InSession == 0 || f.req.Sessions.Max > 0) {
			return true
		}
	}
	return false
}

func (f *taskFetch) find(t *tx) (bool, error) {
	list, err := f.places(t, 1)
	return len(list) > 0, err
}

// places finds the tasks to take, in order.
func (f *taskFetch) places(t *tx, limit int) (list []taskPlace, err error) {
	for filter := range f.filters {
		for _, id := range t.kinds.ByFilter[filter] {
			if t.kinds.ByTask[id].Class&relational.InSession != 0 { // only a gatedFetch asks for those
				continue
			}
			if list, err = t.tasksOfKind(list, id, limit); err != nil {
				return nil, err
			}
		}
	}
	if f.req.Expired {
		err = t.each(sqlFindExpired, func(r *row) error {
			if place := readTaskPlace(r, taskPlace{late: true, at: lateRank}); !t.schedule.skips.has(place.TaskRef) {
				list = append(list, place)
			}
			return nil
		}, t.Now, limit)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b taskPlace) int { return inOrder(&a, &b) })
	if len(list) > limit {
		list = list[:limit]
	}
	return list, nil
}

// inOrder compares places. Tasks of one kind come in the order of the index.
func inOrder(a, b *taskPlace) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.scheduled, b.scheduled), cmp.Compare(a.EventID, b.EventID),
		slices.Compare(a.Key[:], b.Key[:]), cmp.Compare(a.Execution, b.Execution))
}

// rank is the place as a caller gets it.
func (p *taskPlace) rank() provider.Time {
	if p.late {
		return provider.Time(p.at - lateRank)
	}
	return provider.Time(p.at)
}

// readTaskPlace adds a row to what is known by its query.
func readTaskPlace(r *row, place taskPlace) taskPlace {
	place.TaskRef = provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)}
	place.at += r.int(3)
	place.scheduled = r.int(4)
	return place
}

// tasksOfKind adds the first tasks of a kind to list.
func (t *tx) tasksOfKind(list []taskPlace, id int64, limit int) ([]taskPlace, error) {
	t.schedule.watched.tasks.watch(id, t.Elapsed)
	kind, before := t.kinds.ByTask[id], len(list)
	place := taskPlace{at: -kind.Bonus()}
	sql, args, until := sqlFindTasks, []any{id, t.Now, t.Now, limit}, t.Now
	if kind.Class&relational.Ranked != 0 {
		place.ranked, place.kind = true, t.kinds.Unranked(id)
		sql, args, until = sqlFindRanked, []any{id, t.Now, limit}, relational.Never
	}
	if len(t.schedule.skips) == 0 {
		err := t.each(sql, func(r *row) error {
			list = append(list, readTaskPlace(r, place))
			return nil
		}, args...)
		if !damaged(err) {
			return list, err
		}
	}
	list = list[:before]
	err := t.each(sqlTaskKeys, func(r *row) error {
		place := readTaskPlace(r, place)
		if t.schedule.skips.has(place.TaskRef) {
			return nil
		}
		fetchable, err := t.integer(sqlTaskFetchable, t.Now, place.Key, place.Execution, place.EventID)
		if err != nil {
			return damageTo(place.TaskRef, err)
		}
		if fetchable != 0 {
			list = append(list, place)
		}
		return stopAt(len(list)-before, limit)
	}, id, until)
	return list, err
}

func (f *taskFetch) take(t *tx) (bool, error) {
	f.res = provider.FetchTasksResult{Now: t.Now}
	list, err := f.places(t, f.req.Max)
	if err == nil && len(list) > 0 {
		err = t.enroll(f.req.Owner)
	}
	if err != nil {
		return false, err
	}
	until := t.Elapsed + micros(f.req.Lease)
	for _, place := range list {
		task, err := f.lease(t, place, until)
		if err != nil {
			return false, damageTo(place.TaskRef, err)
		}
		task.LeaseUntil = t.Wall(until)
		f.res.Tasks = append(f.res.Tasks, task)
	}
	if len(list) > 0 {
		t.WakeElapsed(until)
	}
	return len(f.res.Tasks) > 0, nil
}

// lease takes one task: to end it if it is late, else to begin it.
func (f *taskFetch) lease(t *tx, place taskPlace, until int64) (task provider.LeasedTask, err error) {
	token := provider.TaskToken(f.req.Token, place.TaskRef)
	if place.late && t.kinds.Sessions() {
		if err := t.do(sqlForgetOf, t.Elapsed, place.Key, place.Execution, place.EventID); err != nil {
			return task, err
		}
	}
	if place.late || place.ranked {
		kind := any(place.kind)
		if place.late { // it keeps its kind, so that its row need not be read to find it
			kind = nil
		}
		err = t.do(sqlLeaseRanked, token, f.req.Owner, until, kind, place.Key, place.Execution, place.EventID)
	} else {
		err = t.do(sqlLeaseTask, token, f.req.Owner, until, place.Key, place.Execution, place.EventID)
	}
	if err != nil {
		return task, err
	}
	t.leases.note(place.TaskRef)
	t.Touch(place.Key)
	task, err = t.leasedTask(place.TaskRef)
	task.Rank = place.rank()
	if err == nil && task.StartBy != 0 && !place.late {
		err = t.do(sqlBeginTask, place.Key, place.Execution, place.EventID)
	}
	return task, err
}

// leasedTask reads a task for the worker that runs it.
func (t *tx) leasedTask(ref provider.TaskRef) (task provider.LeasedTask, err error) {
	task.TaskRef = ref
	var stored relational.Task
	var unknown error
	_, err = t.one(sqlTask, func(r *row) {
		kind, known := t.kinds.ByTask[r.int(0)]
		if !known && unknown == nil {
			unknown = relational.NoKind(r.int(0))
		}
		task.Queue, task.Name, task.Priority = kind.Queue, kind.Name, int(kind.Priority)
		task.Attempt, task.Deliveries, task.CancelRequested = r.int(1), r.int(2), r.bool(3)
		task.ScheduledAt, task.Deadline = r.time(4), r.time(5)
		task.Payload, task.Details, task.Failure = r.sound(6, 9), r.blob(7), r.blob(8)
		stored.StartBy, stored.Deadline, stored.Begun = r.time(10), r.time(5), r.bool(11)
	}, ref.Key, ref.Execution, ref.EventID)
	if err == nil {
		err = unknown
	}
	if err != nil {
		return task, err
	}
	task.StartBy = stored.StartBy
	task.PastDeadline = stored.TimeUp() > 0 && stored.TimeUp() <= t.Now
	var h *relational.Head
	task.State, h, err = t.State(ref.Key, ref.Execution)
	if h != nil {
		task.InstanceID = h.ID
	}
	return task, err
}

// undo gives the tasks back, each with its delivery.
func (f *taskFetch) undo(t *tx) error {
	for i := range f.res.Tasks {
		ref := f.res.Tasks[i].TaskRef
		report := provider.TaskReport{
			TaskRef: ref, Token: provider.TaskToken(f.req.Token, ref), Attempt: f.res.Tasks[i].Attempt, Outcome: provider.TaskRelease,
		}
		if res, err := t.Report(&report); err != nil && res.Err == nil {
			return err
		}
	}
	return nil
}
