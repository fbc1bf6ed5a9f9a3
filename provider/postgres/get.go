package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlGet     = `SELECT ` + instanceColumns + `, ` + sqlNow + instanceTables + ` WHERE i.key = $1`
	sqlGetByID = `SELECT ` + instanceColumns + `, ` + sqlNow + instanceTables + ` WHERE i.id = $1 AND i.current`
	sqlValues  = `SELECT name, value FROM perdure.value WHERE key = $1 ORDER BY name`
	sqlPending = `SELECT t.execution, t.event_id, k.queue, k.name, t.state, t.attempt, t.deliveries, t.owner, t.lease_until,
	t.not_before_at, t.deadline_at, t.scheduled_at, t.details, t.failure, k.priority, t.fairness_key, t.session, t.start_by_at
	FROM perdure.task t JOIN perdure.task_kind k ON k.id = t.kind WHERE t.key = $1 ORDER BY t.execution, t.event_id`
)

// Get implements [provider.Provider].
func (p *Provider) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	if err := req.Validate(); err != nil {
		return provider.GetResult{}, err
	}
	waits := req.WaitEnded && req.Wait > 0
	key := req.Key
	if !waits || key.IsZero() {
		res, err := p.get(ctx, &req)
		if err != nil || !waits || relational.Over(&req, &res.Instance) {
			return res, err
		}
		key = res.Instance.Key
	}
	if err := p.door.Enter(ctx); err != nil {
		return provider.GetResult{}, err
	}
	defer p.door.Leave()
	return p.hub.AwaitEnded(ctx, p.door.Closing, &req, key, p.get, p.warm.clock.latest)
}

const sqlNews = `SELECT ` + instanceColumns + ` FROM (SELECT key FROM unnest($1::uuid[]) n (key)) w
	CROSS JOIN LATERAL (SELECT * FROM perdure.instance x WHERE x.key = w.key OFFSET 0) i JOIN perdure.kind k ON k.id = i.kind
	LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[i.key])`

// queueNews reads instances that calls of this process wait for, as the transaction leaves them. Those with attributes they read
// themselves.
func (u *unit) queueNews(b *pgx.Batch, changed []provider.UUID) {
	var keys []provider.UUID
	for _, key := range changed {
		if u.asked(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	b.Queue(u.p.names.sql(sqlNews), uuids(keys)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			in := &provider.Instance{}
			if err := scanInstance(rows, in); err != nil {
				return err
			}
			if in.Attributes == nil {
				u.news = append(u.news, in)
			}
		}
		return rows.Err()
	})
}

// get answers what is stored.
func (p *Provider) get(ctx context.Context, req *provider.GetRequest) (res provider.GetResult, err error) {
	err = p.read(ctx, "get", func(ctx context.Context, c *pgxpool.Conn) error {
		res = provider.GetResult{}
		sql, arg := sqlGet, any(uuid(req.Key))
		if req.Key.IsZero() {
			sql, arg = sqlGetByID, any(req.ID)
		}
		b := p.byIndex()
		found := false
		b.Queue(p.names.sql(sql), arg).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				found = true
				if err := scanInstance(rows, &res.Instance, &res.Now); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		if err := p.exchange(ctx, c.Conn(), b); err != nil {
			return err
		}
		if !found {
			return relational.NotFound(req.ID, req.Key)
		}
		if err := p.readAttributes(ctx, c, []*provider.Instance{&res.Instance}); err != nil {
			return err
		}
		return p.details(ctx, c, req, &res)
	})
	if err != nil {
		return provider.GetResult{}, err
	}
	return res, nil
}

// details adds what the request asks for beside the instance.
func (p *Provider) details(ctx context.Context, c *pgxpool.Conn, req *provider.GetRequest, res *provider.GetResult) error {
	if !req.WithValues && !req.WithTasks {
		return nil
	}
	b := p.byIndex()
	if req.WithValues {
		b.Queue(p.names.sql(sqlValues), uuid(res.Instance.Key)).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var v provider.KeyValue
				if err := rows.Scan(&v.Key, &v.Value); err != nil {
					return err
				}
				res.Values = append(res.Values, v)
			}
			return rows.Err()
		})
	}
	if req.WithTasks {
		b.Queue(p.names.sql(sqlCountLettersOf), uuid(res.Instance.Key)).QueryRow(func(row pgx.Row) error {
			return row.Scan(&res.DeadLetters)
		})
		b.Queue(p.names.sql(sqlPending), uuid(res.Instance.Key)).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				task, err := scanPending(rows, res)
				if err != nil {
					return err
				}
				res.Tasks = append(res.Tasks, task)
			}
			return rows.Err()
		})
	}
	return p.exchange(ctx, c.Conn(), b)
}

func scanPending(rows pgx.Rows, res *provider.GetResult) (provider.TaskInfo, error) {
	task := provider.TaskInfo{TaskRef: provider.TaskRef{Key: res.Instance.Key}}
	var priority int64
	err := rows.Scan(&task.Execution, &task.EventID, &task.Queue, &task.Name, &task.State, &task.Attempt, &task.Deliveries,
		&task.Owner, &task.LeaseUntil, &task.NotBefore, &task.Deadline, &task.ScheduledAt, &task.Details, &task.Failure,
		&priority, &task.FairnessKey, &task.Session, &task.StartBy)
	task.Priority = int(relational.StoredTaskKind(task.Queue, task.Name, priority).Priority)
	lapsed := task.State == provider.TaskLeased && task.LeaseUntil <= res.Now
	if task.State == provider.TaskQueued || lapsed {
		task.State, task.Owner, task.LeaseUntil = provider.TaskQueued, "", 0
	}
	return task, err
}
