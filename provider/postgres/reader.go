package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlGet     = `SELECT ` + instanceColumns + `, ` + sqlNow + instanceTables + ` WHERE i.key = $1`
	sqlGetByID = `SELECT ` + instanceColumns + `, ` + sqlNow + instanceTables + ` WHERE i.id = $1 AND i.current`
	sqlValues  = `SELECT name, value FROM perdure.value WHERE key = $1 ORDER BY name`
	sqlValue   = `SELECT value FROM perdure.value WHERE key = $1 AND name = $2`
	sqlPending = `SELECT t.execution, t.event_id, k.queue, k.name, t.state, t.attempt, t.deliveries, t.owner, t.lease_until,
	t.not_before_at, t.deadline_at, t.scheduled_at, t.details, t.failure, k.priority, t.fairness_key, t.session, t.start_by_at
	FROM perdure.task t JOIN perdure.task_kind k ON k.id = t.kind WHERE t.key = $1 ORDER BY t.execution, t.event_id`
)

// reader serves the plain reads.
type reader struct {
	db      *database
	hub     *relational.Hub
	memory  *memory
	commits *commits // counted by stats
	janitor *janitor // counted by stats
}

// await returns an instance, after it has ended if the request says so.
func (r *reader) await(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	if err := req.Validate(); err != nil {
		return provider.GetResult{}, err
	}
	waits := req.Waits()
	key := req.Key
	if !waits || key.IsZero() {
		res, err := r.get(ctx, &req)
		if err != nil || !waits || req.Mark == "" && req.Ends(&res) {
			return res, err
		}
		key = res.Instance.Key
	}
	if err := r.db.door.Enter(ctx); err != nil {
		return provider.GetResult{}, err
	}
	defer r.db.door.Leave()
	if !req.WaitEnded {
		from := relational.Source{Get: r.get, Stamps: r.stamps, Now: r.memory.clock.latest}
		return r.hub.Await(ctx, r.db.door.Closing, &req, key, &from)
	}
	return r.hub.AwaitEnded(ctx, r.db.door.Closing, &req, key, r.get, r.memory.clock.latest)
}

// get returns what is stored.
func (r *reader) get(ctx context.Context, req *provider.GetRequest) (res provider.GetResult, err error) {
	err = r.db.read(ctx, "get", func(ctx context.Context, c *pgxpool.Conn) error {
		res = provider.GetResult{}
		sql, arg := sqlGet, any(uuid(req.Key))
		if req.Key.IsZero() {
			sql, arg = sqlGetByID, any(req.ID)
		}
		b := r.db.byIndex()
		found := false
		b.Queue(r.db.names.sql(sql), arg).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				found = true
				if err := scanInstance(rows, &res.Instance, &res.Now); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		if err := r.db.exchange(ctx, c.Conn(), b); err != nil {
			return err
		}
		if !found {
			return relational.NotFound(req.ID, req.Key)
		}
		if err := r.db.readAttributes(ctx, c, []*provider.Instance{&res.Instance}); err != nil {
			return err
		}
		return r.details(ctx, c, req, &res)
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
func (r *reader) details(ctx context.Context, c *pgxpool.Conn, req *provider.GetRequest, res *provider.GetResult) error {
	if !req.WithValues && !req.WithTasks && req.Value == "" {
		return nil
	}
	b := r.db.byIndex()
	if req.Value != "" {
		b.Queue(r.db.names.sql(sqlValue), uuid(res.Instance.Key), req.Value).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				res.Value = &provider.KeyValue{Key: req.Value}
				if err := rows.Scan(&res.Value.Value); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	}
	if req.WithValues {
		b.Queue(r.db.names.sql(sqlValues), uuid(res.Instance.Key)).Query(func(rows pgx.Rows) error {
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
		b.Queue(r.db.names.sql(sqlCountLettersOf), uuid(res.Instance.Key)).QueryRow(func(row pgx.Row) error {
			return row.Scan(&res.DeadLetters)
		})
		b.Queue(r.db.names.sql(sqlPending), uuid(res.Instance.Key)).Query(func(rows pgx.Rows) error {
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
	return r.db.exchange(ctx, c.Conn(), b)
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

//nolint:gochecknoglobals // constant
var dialect = relational.Dialect{
	Table: defaultSchema + ".", True: "true", Mark: func(n int) string { return "$" + strconv.Itoa(n) },
	UUID: func(u provider.UUID) any { return uuid(u) }, Order: " ORDER BY i.created_at DESC, i.key DESC",
	ByKey: "JOIN " + defaultSchema + ".instance i ON i.key = ANY(ARRAY[d.found])",
}

const (
	sqlStatuses = `SELECT status, count(*) FROM perdure.instance GROUP BY status`
	// Each kind is looked up by its number and status.
	sqlRunning = `SELECT k.name, k.code_version, sum(c.n)::bigint FROM perdure.kind k CROSS JOIN LATERAL (SELECT count(*) AS n
		FROM perdure.instance i WHERE i.kind = ANY(ARRAY[k.id]) AND i.status IN (1, 2)) c
	WHERE c.n > 0 GROUP BY k.name, k.code_version ORDER BY 1, 2`
	sqlCounts = `SELECT c.now, (SELECT count(*) FROM perdure.instance WHERE blocked),
	(SELECT count(*) FROM perdure.instance WHERE lease_token IS NOT NULL AND lease_until > c.now),
	(SELECT count(*) FROM perdure.task WHERE state = 2 AND lease_until > c.now),
	(SELECT count(*) FROM perdure.dead_letter) FROM (SELECT ` + sqlNow + ` AS now) c`
	sqlWaitingTurns = `SELECT k.name, k.code_version, k.engine_level, count(*), min(i.ready_at) FROM perdure.instance i
	JOIN perdure.kind k ON k.id = i.kind WHERE i.fetch_at > 0 AND i.fetch_at <= ` + sqlNow + ` GROUP BY k.id ORDER BY 1, 2, 3`
	// A task that is ranked by fairness waits since before its rank.
	sqlWaitingTasks = `SELECT k.queue, k.name, count(*), min(t.since) FROM (
		SELECT kind, fetch_at AS since, expire_at FROM perdure.task WHERE fetch_at > 0 AND fetch_at <= ` + sqlNow + ` AND fetch_at <> rank_at
		UNION ALL SELECT kind, not_before_at, expire_at FROM perdure.task WHERE rank_at > 0 AND fetch_at = rank_at) t
	JOIN perdure.task_kind k ON k.id = t.kind WHERE t.expire_at = 0 OR t.expire_at > ` + sqlNow + `
	GROUP BY k.queue, k.name ORDER BY 1, 2`
)

// counters returns what this handle has done.
func (r *reader) counters() provider.Counters {
	return provider.Counters{
		Commits: r.commits.count.Load(), CommitGroups: r.commits.turns.Load(), Dropped: r.commits.dropped.Load(), ReadyMended: r.janitor.mended.Load(),
	}
}

// stats returns what its request asks for.
func (r *reader) stats(ctx context.Context, req provider.StatsRequest) (res provider.StatsResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	res = provider.StatsResult{Instances: make(map[provider.Status]int64)}
	b, pool := &pgx.Batch{}, r.db.pool
	all := !req.Waiting && !req.Running
	if all {
		r.queueCounts(b, &res)
	} else { // the start that needs what waits may be about to join a caller's transaction, which holds a connection
		pool = r.db.spare
		b.Queue(sqlByIndex)
		b.Queue("SELECT " + sqlNow).QueryRow(func(r pgx.Row) error { return r.Scan(&res.Now) })
	}
	if all || req.Waiting {
		r.queueWaiting(b, &res)
	}
	if all || req.Running {
		r.queueRunning(b, &res)
	}
	err = r.db.snapshotOn(ctx, pool, "stats", func(ctx context.Context, tx pgx.Tx) error { return tx.SendBatch(ctx, b).Close() })
	if err != nil {
		return provider.StatsResult{}, err
	}
	return res, nil
}

// queueWaiting queues the figures of waiting work.
func (r *reader) queueWaiting(b *pgx.Batch, res *provider.StatsResult) {
	b.Queue(r.db.names.sql(sqlWaitingTurns)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var t provider.WaitingTurns
			if err := rows.Scan(&t.Name, &t.CodeVersion, &t.EngineLevel, &t.Count, &t.Oldest); err != nil {
				return err
			}
			res.Turns = append(res.Turns, t)
		}
		return rows.Err()
	})
	b.Queue(r.db.names.sql(sqlWaitingTasks)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var t provider.WaitingTasks
			if err := rows.Scan(&t.Queue, &t.Name, &t.Count, &t.Oldest); err != nil {
				return err
			}
			res.Tasks = append(res.Tasks, t)
		}
		return rows.Err()
	})
}

// queueRunning queues the counts of instances that have not ended.
func (r *reader) queueRunning(b *pgx.Batch, res *provider.StatsResult) {
	b.Queue(r.db.names.sql(sqlRunning)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n provider.RunningInstances
			if err := rows.Scan(&n.Name, &n.CodeVersion, &n.Count); err != nil {
				return err
			}
			res.Running = append(res.Running, n)
		}
		return rows.Err()
	})
}

// queueCounts queues counts that read large parts of the store.
func (r *reader) queueCounts(b *pgx.Batch, res *provider.StatsResult) {
	b.Queue(r.db.names.sql(sqlCounts)).QueryRow(func(r pgx.Row) error {
		return r.Scan(&res.Now, &res.Blocked, &res.TurnLeases, &res.TaskLeases, &res.DeadLetters)
	})
	b.Queue(r.db.names.sql(sqlStatuses)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var status provider.Status
			var n int64
			if err := rows.Scan(&status, &n); err != nil {
				return err
			}
			res.Instances[status] = n
		}
		return rows.Err()
	})
}
