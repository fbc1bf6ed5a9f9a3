package sqlite

import (
	"context"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlValues = `SELECT name, value FROM perdure_value WHERE key = ? ORDER BY name`
	sqlValue  = `SELECT value FROM perdure_value WHERE key = ? AND name = ?`
	sqlTasks  = `SELECT t.execution, t.event_id, k.queue, k.name, t.state, t.attempt, t.deliveries, t.owner, t.lease_until,
		t.not_before_at, t.deadline_at, t.scheduled_at, t.details, t.failure, k.priority, t.fairness_key, t.session, t.start_by_at
		FROM perdure_task t JOIN perdure_task_kind k ON k.id = t.kind WHERE t.key = ? ORDER BY t.execution, t.event_id`
)

// A reader has the calls that only read. They need no writer, and see committed data.
type reader struct{ *handle }

// Get implements [provider.Provider].
func (rd *reader) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	if err := req.Validate(); err != nil {
		return provider.GetResult{}, err
	}
	key, waits := req.Key, req.Waits()
	if key.IsZero() || !waits { // else the wait begins with the same read
		res, err := rd.get(ctx, &req)
		if err != nil || !waits || req.Mark == "" && req.Ends(&res) {
			return res, err
		}
		key = res.Instance.Key
	}
	if err := rd.door.Enter(ctx); err != nil {
		return provider.GetResult{}, err
	}
	defer rd.door.Leave()
	if !req.WaitEnded {
		from := relational.Source{Get: rd.get, Stamps: rd.stamps, Now: rd.store.clock.wall}
		return rd.store.hub.Await(ctx, rd.door.Closing, &req, key, &from)
	}
	return rd.store.hub.AwaitEnded(ctx, rd.door.Closing, &req, key, rd.get, rd.store.clock.wall)
}

// get reads an instance.
func (rd *reader) get(ctx context.Context, req *provider.GetRequest) (res provider.GetResult, err error) {
	err = rd.read(ctx, "get", func(c *conn) error {
		plain := context.WithoutCancel(ctx) // point reads: an interrupt would cost more than it saves
		sql, arg := sqlInstance, any(req.Key)
		if req.Key.IsZero() {
			sql, arg = sqlInstanceByID, any(req.ID)
		}
		res = provider.GetResult{Now: rd.store.clock.wall()}
		found, err := instanceOf(bound{plain, c}, &res.Instance, sql, arg)
		if err != nil {
			return err
		}
		if !found {
			return relational.NotFound(req.ID, req.Key)
		}
		return rd.details(plain, c, req, &res)
	})
	if err != nil {
		return provider.GetResult{}, err
	}
	if req.Marks() {
		res.Mark = provider.MarkOf(&res)
	}
	return res, nil
}

// details adds what the request asks for in addition to the instance.
func (rd *reader) details(ctx context.Context, c *conn, req *provider.GetRequest, res *provider.GetResult) error {
	key := res.Instance.Key
	if req.WithValues {
		err := c.each(ctx, sqlValues, func(r *row) error {
			res.Values = append(res.Values, provider.KeyValue{Key: r.text(0), Value: r.blob(1)})
			return nil
		}, key)
		if err != nil {
			return err
		}
	}
	if req.Value != "" {
		value := provider.KeyValue{Key: req.Value}
		found, err := c.one(ctx, sqlValue, func(r *row) { value.Value = r.blob(0) }, key, req.Value)
		if err != nil {
			return err
		}
		if found {
			res.Value = &value
		}
	}
	if !req.WithTasks {
		return nil
	}
	if _, err := c.one(ctx, sqlCountLettersOf, func(r *row) { res.DeadLetters = r.int(0) }, key); err != nil {
		return err
	}
	skew := rd.store.clock.skew()
	elapsed := int64(res.Now) - skew
	return c.each(ctx, sqlTasks, func(r *row) error {
		task := provider.TaskInfo{
			TaskRef: provider.TaskRef{Key: key, Execution: r.int(0), EventID: r.int(1)},
			Queue:   r.text(2), Name: r.text(3), State: provider.TaskState(r.int(4)), Attempt: r.int(5), Deliveries: r.int(6),
			Owner: r.text(7), NotBefore: r.time(9), Deadline: r.time(10), ScheduledAt: r.time(11),
			Details: r.blob(12), Failure: r.blob(13), FairnessKey: r.text(15), Session: r.text(16), StartBy: r.time(17),
			Priority: int(relational.StoredTaskKind(r.text(2), r.text(3), r.int(14)).Priority),
		}
		if until := r.int(8); until > 0 {
			task.LeaseUntil = provider.Time(until + skew)
		}
		if task.State == provider.TaskQueued || task.State == provider.TaskLeased && r.int(8) <= elapsed { // expired
			task.State, task.Owner, task.LeaseUntil = provider.TaskQueued, "", 0
		}
		res.Tasks = append(res.Tasks, task)
		return nil
	}, key)
}
