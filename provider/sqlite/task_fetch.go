package sqlite

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlFindTasks = `SELECT key, execution, event_id, fetch_at FROM perdure_task INDEXED BY perdure_task_fetch
		WHERE kind = ? AND fetch_at <= ? AND (deadline_at = 0 OR deadline_at > ?) ORDER BY fetch_at LIMIT ?`
	// Of the index alone, and of the row alone: for a search that must get past damaged rows.
	sqlTaskKeys = `SELECT key, execution, event_id, fetch_at FROM perdure_task INDEXED BY perdure_task_fetch
		WHERE kind = ? AND fetch_at <= ? ORDER BY fetch_at`
	sqlTaskDeadline = `SELECT deadline_at FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
	sqlFindExpired  = `SELECT key, execution, event_id, expire_at FROM perdure_task WHERE expire_at <= ? ORDER BY expire_at LIMIT ?`
	sqlLeaseTask    = `UPDATE perdure_task SET state = 2, token = ?, owner = ?, lease_until = ?, deliveries = deliveries + 1,
		fetch_at = NULL, expire_at = NULL WHERE key = ? AND execution = ? AND event_id = ?`
	sqlTask = `SELECT kind, attempt, deliveries, cancel, scheduled_at, deadline_at, payload, details, failure, sum
		FROM perdure_task WHERE key = ? AND execution = ? AND event_id = ?`
)

// FetchTasks implements [provider.Provider].
func (p *Provider) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	if err := req.Validate(); err != nil {
		return provider.FetchTasksResult{}, err
	}
	f := &taskFetch{req: req, filters: make(map[relational.TaskFilter]struct{})}
	for _, q := range req.Queues {
		for _, name := range q.Names {
			f.filters[relational.TaskFilter{Queue: q.Queue, Name: name}] = struct{}{}
		}
	}
	call := &parked{op: "fetch tasks", wants: f.wants, find: f.find, take: f.take, undo: f.undo}
	if err := p.park(ctx, call, req.Wait); err != nil {
		return provider.FetchTasksResult{}, err
	}
	if f.res.Now == 0 {
		f.res.Now = p.store.clock.wall()
	}
	return f.res, nil
}

// A taskFetch is one parked FetchTasks. The writer owns it until the call is done.
type taskFetch struct {
	req     provider.FetchTasksRequest
	filters map[relational.TaskFilter]struct{}
	res     provider.FetchTasksResult
}

type taskPlace struct {
	provider.TaskRef
	priority int64
	at       int64
}

func (f *taskFetch) wants(t *tx) bool {
	if f.req.Expired && t.Effects.Expired {
		return true
	}
	for id := range t.Effects.Tasks {
		if _, ok := f.filters[t.kinds.ByTask[id].TaskFilter]; ok {
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
			if list, err = t.tasksOfKind(list, id, limit); err != nil {
				return nil, err
			}
		}
	}
	if f.req.Expired {
		err = t.each(sqlFindExpired, func(r *row) error {
			if place := readTaskPlace(r, 0); !t.writer.shunned(place.TaskRef) {
				list = append(list, place)
			}
			return nil
		}, t.Now, limit)
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b taskPlace) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.at, b.at),
			slices.Compare(a.Key[:], b.Key[:]), cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.EventID, b.EventID))
	})
	if len(list) > limit {
		list = list[:limit]
	}
	return list, nil
}

func readTaskPlace(r *row, priority int64) taskPlace {
	return taskPlace{
		TaskRef:  provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)},
		priority: priority, at: r.int(3),
	}
}

// tasksOfKind adds the first tasks of a kind to list.
func (t *tx) tasksOfKind(list []taskPlace, kind int64, limit int) ([]taskPlace, error) {
	priority, before := t.kinds.ByTask[kind].Priority, len(list)
	if len(t.writer.shuns) == 0 {
		err := t.each(sqlFindTasks, func(r *row) error {
			list = append(list, readTaskPlace(r, priority))
			return nil
		}, kind, t.Now, t.Now, limit)
		if !damaged(err) {
			return list, err
		}
	}
	list = list[:before]
	err := t.each(sqlTaskKeys, func(r *row) error {
		place := readTaskPlace(r, priority)
		if t.writer.shunned(place.TaskRef) {
			return nil
		}
		deadline, err := t.integer(sqlTaskDeadline, place.Key, place.Execution, place.EventID)
		if err != nil {
			return damageTo(place.TaskRef, err)
		}
		if deadline == 0 || provider.Time(deadline) > t.Now {
			list = append(list, place)
		}
		return stopAt(len(list)-before, limit)
	}, kind, t.Now)
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
		_, err := t.exec(sqlLeaseTask, f.req.Token, f.req.Owner, until, place.Key, place.Execution, place.EventID)
		var task provider.LeasedTask
		if err == nil {
			task, err = t.leasedTask(place.TaskRef)
		}
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

// leasedTask reads a task for the one who runs it.
func (t *tx) leasedTask(ref provider.TaskRef) (task provider.LeasedTask, err error) {
	task.TaskRef = ref
	_, err = t.one(sqlTask, func(r *row) {
		kind := t.kinds.ByTask[r.int(0)]
		task.Queue, task.Name, task.Priority = kind.Queue, kind.Name, int(kind.Priority)
		task.Attempt, task.Deliveries, task.CancelRequested = r.int(1), r.int(2), r.bool(3)
		task.ScheduledAt, task.Deadline = r.time(4), r.time(5)
		task.Payload, task.Details, task.Failure = r.sound(6, 9), r.blob(7), r.blob(8)
	}, ref.Key, ref.Execution, ref.EventID)
	if err != nil {
		return task, err
	}
	task.PastDeadline = task.Deadline > 0 && task.Deadline <= t.Now
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
		report := provider.TaskReport{
			TaskRef: f.res.Tasks[i].TaskRef, Token: f.req.Token, Attempt: f.res.Tasks[i].Attempt, Outcome: provider.TaskRelease,
		}
		if res, err := t.Report(&report); err != nil && res.Err == nil {
			return err
		}
	}
	return nil
}
