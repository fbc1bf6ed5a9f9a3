package relational

import (
	"context"

	"github.com/perdure/perdure/provider"
)

const (
	sqlGet              = `SELECT ` + instanceAnd + sqlNow + instanceOf + ` WHERE i.key = $1`
	sqlGetByID          = `SELECT ` + instanceAnd + sqlNow + instanceOf + ` WHERE i.id = $1 AND i.current{| = 1}`
	sqlValues           = `SELECT name, value FROM perdure.value WHERE key = $1 ORDER BY name`
	sqlValue            = `SELECT value FROM perdure.value WHERE key = $1 AND name = $2`
	sqlCountDeadLetters = `SELECT count(*) FROM perdure.dead_letter WHERE key = $1`
	// pendingColumns are those that pending reads, pendingCount of them.
	pendingColumns = `t.execution, t.event_id, k.queue, k.name, t.state, t.attempt, t.deliveries, t.owner, t.lease_until,
	t.not_before_at, t.deadline_at, t.scheduled_at, t.details, t.failure, k.priority, t.fairness_key, t.session, t.start_by_at,
	coalesce(s.owner, ''), coalesce({least|min}(s.lease_until, s.idle_until), 0), CASE WHEN s.id IS NULL THEN 0 ELSE coalesce((SELECT max(o.lease_until)
		FROM perdure.task o WHERE o.session = s.id AND o.session <> '' AND o.state = 2 AND o.owner = s.owner), 0) END`
	pendingCount = 21
	pendingOf    = ` FROM perdure.task t JOIN perdure.task_kind k ON k.id = t.kind
	LEFT JOIN perdure.session s ON s.id = t.session AND t.session <> ''`
	sqlPending = `SELECT ` + pendingColumns + pendingOf + `
	WHERE t.key = $1 ORDER BY t.execution, t.event_id`
)

// Get implements [provider.Provider].
func (qs Queries) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	if err := req.Validate(); err != nil {
		return provider.GetResult{}, err
	}
	key, waits := req.Key, req.Waits()
	if key.IsZero() || !waits { // else the wait begins with the same read
		res, err := qs.get(ctx, &req)
		if err != nil || !waits || req.Mark == "" && req.Ends(&res) {
			return res, err
		}
		key = res.Instance.Key
	}
	if err := qs.door.Enter(ctx); err != nil {
		return provider.GetResult{}, err
	}
	defer qs.door.Leave()
	if !req.WaitEnded {
		from := Source{Get: qs.get, Stamps: qs.storage.Stamps, Now: qs.storage.Now, Failed: qs.storage.PollFailed}
		return qs.hub.Await(ctx, qs.door.Closing, &req, key, &from)
	}
	return qs.hub.AwaitEnded(ctx, qs.door.Closing, &req, key, qs.get, qs.storage.Now)
}

// get returns what is stored.
func (qs Queries) get(ctx context.Context, req *provider.GetRequest) (provider.GetResult, error) {
	res, err := read(ctx, qs.storage, Reading{Op: "get"}, func(q Queryer, res *provider.GetResult) error {
		sql, arg := sqlGet, any(req.Key)
		if req.Key.IsZero() {
			sql, arg = sqlGetByID, any(req.ID)
		}
		found, attributes := false, false
		err := q.Query(Query{SQL: sql, Args: []any{arg}, Each: func(r Row) error {
			found, attributes = true, ScanInstance(r, &res.Instance)
			res.Now = timeIn(r, moreColumns)
			return nil
		}})
		if err == nil && !found {
			err = NotFound(req.ID, req.Key)
		}
		if more := qs.details(req, attributes, res); err == nil && len(more) > 0 {
			err = q.Query(more...)
		}
		return err
	})
	qs.storage.ObserveTime(res.Now)
	if err == nil && req.Marks() {
		res.Mark = provider.MarkOf(&res)
	}
	return res, err
}

// details are the statements for what the request asks for in addition to the instance.
func (qs Queries) details(req *provider.GetRequest, attributes bool, res *provider.GetResult) (list []Query) {
	in := &res.Instance
	add := func(sql string, each func(r Row), more ...any) {
		list = append(list, Query{SQL: sql, Args: append([]any{in.Key}, more...), Each: func(r Row) error {
			each(r)
			return nil
		}})
	}
	if attributes {
		add(sqlAttributes, func(r Row) { in.Attributes = append(in.Attributes, ScanAttribute(r, 0)) })
	}
	if req.Value != "" {
		add(sqlValue, func(r Row) { res.Value = &provider.KeyValue{Key: req.Value, Value: r.Blob(0)} }, req.Value)
	}
	if req.WithValues {
		add(sqlValues, func(r Row) {
			res.Values = append(res.Values, provider.KeyValue{Key: r.Text(0), Value: r.Blob(1)})
		})
	}
	if req.WithTasks {
		skew := qs.storage.Skew()
		add(sqlCountDeadLetters, func(r Row) { res.DeadLetters = r.Int(0) })
		add(sqlPending, func(r Row) { res.Tasks = append(res.Tasks, pending(r, in.Key, res.Now, skew)) })
	}
	return list
}

// pending reads a task. A task whose lease is over is queued.
func pending(r Row, key provider.UUID, now provider.Time, skew int64) provider.TaskInfo {
	task := provider.TaskInfo{
		TaskRef: provider.TaskRef{Key: key, Execution: r.Int(0), EventID: r.Int(1)},
		Queue:   r.Text(2), Name: r.Text(3), State: provider.TaskState(r.Int(4)), Attempt: r.Int(5), Deliveries: r.Int(6),
		Owner: r.Text(7), NotBefore: timeIn(r, 9), Deadline: timeIn(r, 10), ScheduledAt: timeIn(r, 11),
		Details: r.Blob(12), Failure: r.Blob(13), FairnessKey: r.Text(15), Session: r.Text(16), StartBy: timeIn(r, 17),
		Priority: int(StoredTaskKind("", "", r.Int(14)).Priority),
	}
	if until := max(r.Int(19), r.Int(20)); until > 0 && provider.Time(until+skew) > now {
		task.SessionOwner = r.Text(18)
	}
	if until := r.Int(8); until > 0 {
		task.LeaseUntil = provider.Time(until + skew)
	}
	if task.State == provider.TaskQueued || task.State == provider.TaskLeased && task.LeaseUntil <= now {
		task.State, task.Owner, task.LeaseUntil = provider.TaskQueued, "", 0
	}
	return task
}
