package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// Tasks are ordered by rank. A rank does not delay a task: it only puts it behind tasks that are late. A task
	// ranked by fairness gets the plain kind with its lease. So every task left in a ranked kind may be fetched, except
	// those that an older release delayed.
	sqlClaimTasks = sqlFindDue + sqlTakeDue
	// The same where tasks may be in sessions.
	sqlClaimLate = sqlFindDue + sqlForgetLate + sqlTakeDue
	sqlFindDue   = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now),
	late AS MATERIALIZED (SELECT t.key, t.execution, t.event_id, true AS late, t.expire_at AS at, t.scheduled_at, t.kind FROM perdure.task t
		WHERE $6 AND t.expire_at > 0 AND t.expire_at <= (SELECT now FROM clock) ORDER BY t.expire_at LIMIT $3 FOR UPDATE SKIP LOCKED),
	early AS MATERIALIZED (SELECT d.* FROM unnest($1::bigint[], $2::bigint[], $8::bigint[]) k (id, bonus, plain) CROSS JOIN LATERAL (
		SELECT t.key, t.execution, t.event_id, false AS late, t.fetch_at - k.bonus AS at, t.scheduled_at, k.plain FROM perdure.task t
		WHERE t.kind = k.id AND t.fetch_at > 0
		AND t.fetch_at <= CASE WHEN k.id = k.plain THEN (SELECT now FROM clock) ELSE 9223372036854775807 END
		AND (t.fetch_at <= (SELECT now FROM clock) OR t.fetch_at = t.rank_at) AND (t.expire_at = 0 OR t.expire_at > (SELECT now FROM clock))
		ORDER BY t.fetch_at, t.scheduled_at, t.event_id LIMIT $3 FOR UPDATE SKIP LOCKED) d),
	due AS MATERIALIZED (SELECT * FROM (SELECT * FROM late UNION ALL SELECT * FROM early) u
		ORDER BY late DESC, at, scheduled_at, event_id, key, execution LIMIT $3),
	`
	// A task past its time is leased without a claim of its session. By that lease the last owner of a session that has ended would
	// hold it again. A session that somebody else has locked is his to end: a claim waits for nobody.
	sqlForgetLate = `ended AS MATERIALIZED (SELECT e.id FROM due d CROSS JOIN LATERAL (SELECT s.id FROM perdure.task t, perdure.session s
		WHERE d.late AND t.key = ANY(ARRAY[d.key]) AND t.execution = d.execution AND t.event_id = d.event_id AND t.session <> ''
		AND s.id = t.session AND NOT ` + sqlHeldFrom + sqlAtClock + sqlHeldOr + sqlAtClock + sqlHeldEnd + `
		FOR UPDATE OF s SKIP LOCKED) e),
	forgotten AS (DELETE FROM perdure.session s USING ended e WHERE s.id = e.id),
	`
	sqlAtClock = `(SELECT now FROM clock)`
	// Due tasks are leased.
	sqlTakeDue = `taken AS (UPDATE perdure.task t SET state = 2, token = ` + sqlTokenFrom + `$4` + sqlTokenOfTask + `, owner = $5,
		lease_until = c.now + $7, fetch_at = c.now + $7,
		expire_at = CASE WHEN d.late THEN c.now + $7 WHEN t.deadline_at = 0 THEN 0 ELSE greatest(t.deadline_at, c.now + $7) END,
		deliveries = t.deliveries + 1, begun = t.begun OR NOT d.late, kind = d.kind, rank_at = 0 FROM due d, clock c
		WHERE t.key = ANY(ARRAY[d.key]) AND t.execution = d.execution AND t.event_id = d.event_id RETURNING t.*, d.late, d.at, c.now AS now)
	SELECT t.key, t.execution, t.event_id, t.kind, t.payload, t.attempt, t.deliveries, t.lease_until, t.cancel, t.scheduled_at,
		t.start_by_at, t.deadline_at, t.late, t.at, t.details, t.failure, t.now, coalesce(i.id, ''), coalesce(i.status, 0),
		coalesce(i.deleting, false), coalesce(i.execution, 0), coalesce(e.status, 0)
	FROM taken t LEFT JOIN perdure.instance i ON i.key = ANY(ARRAY[t.key])
	LEFT JOIN perdure.execution e ON e.key = ANY(ARRAY[t.key]) AND e.execution = t.execution
	ORDER BY t.late DESC, t.at, t.scheduled_at, t.event_id, t.key, t.execution`
	// The lease token of a task, as provider.TaskToken computes it. The token of its fetch stands between the two
	// parts.
	sqlTokenFrom   = `encode(substring(sha256(uuid_send(`                                                                  //nolint:gosec // SQL
	sqlTokenOfTask = `::uuid) || uuid_send(t.key) || int8send(t.execution) || int8send(t.event_id)) FOR 16), 'hex')::uuid` //nolint:gosec // SQL
	sqlNextTask    = `SELECT ` + sqlNow + `, least((SELECT min(n.at) FROM unnest($1::bigint[]) k (id) CROSS JOIN LATERAL (
		SELECT CASE WHEN t.fetch_at = t.rank_at THEN 1 ELSE t.fetch_at END AS at FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at > 0
		AND (t.expire_at = 0 OR t.expire_at > ` + sqlNow + ` AND (t.expire_at > t.fetch_at OR t.fetch_at = t.rank_at))
		ORDER BY t.fetch_at LIMIT 1) n),
		CASE WHEN $2 THEN (SELECT t.expire_at FROM perdure.task t WHERE t.expire_at > 0 ORDER BY t.expire_at LIMIT 1) END)`
)

// taskFetch is one FetchTasks.
type taskFetch struct {
	c   *claims
	req provider.FetchTasksRequest
	res provider.FetchTasksResult

	taken []int64 // the numbers of the kinds of the tasks
}

// taskKinds are what a fetch asks for: kinds, how much earlier each ranks, and the kind of its tasks once they are
// leased.
type taskKinds struct{ ids, bonuses, plain []int64 }

// Only fetches that claim sessions take tasks in sessions, even if kinds become known after they began.
func (f *taskFetch) kinds(sessions bool) taskKinds {
	k := taskKinds{[]int64{}, []int64{}, []int64{}}
	kinds := f.c.kinds.get()
	for _, q := range f.req.Queues {
		for _, name := range q.Names {
			for _, id := range kinds.ByFilter[relational.TaskFilter{Queue: q.Queue, Name: name}] {
				if kinds.ByTask[id].Class&relational.InSession != 0 && !sessions {
					continue
				}
				k.ids, k.bonuses, k.plain = append(k.ids, id), append(k.bonuses, kinds.ByTask[id].Bonus()), append(k.plain, kinds.Unranked(id))
			}
		}
	}
	return k
}

func (f *taskFetch) wants(s *signal) bool {
	if s.Expired && f.req.Expired {
		return true
	}
	kinds := f.c.kinds.get()
	return slices.ContainsFunc(s.Tasks, func(id int64) bool {
		kind, known := kinds.ByTask[id]
		if kind.Class&relational.InSession != 0 && f.req.Sessions.Max == 0 {
			return false
		}
		return !known || slices.ContainsFunc(f.req.Queues, func(q provider.QueueFilter) bool {
			return q.Queue == kind.Queue && slices.Contains(q.Names, kind.Name)
		})
	})
}

func (f *taskFetch) poll(ctx context.Context) (bool, error) {
	if err := f.c.kinds.refresh(ctx, f.c.db.pool); err != nil {
		return false, err
	}
	f.res = provider.FetchTasksResult{}
	k := f.kinds(false)
	claim := sqlClaimTasks
	if f.req.Expired && f.c.kinds.get().Sessions() {
		claim = sqlClaimLate
	}
	b := f.c.begin(&f.res.Now)
	b.Queue(f.c.db.names.sql(claim), k.ids, k.bonuses, f.req.Max, uuid(f.req.Token), f.req.Owner, f.req.Expired,
		f.req.Lease.Microseconds(), k.plain).
		Query(f.collect)
	took := func() bool { return len(f.res.Tasks) > 0 }
	if err := f.c.run(ctx, f.req.Owner, f.req.Lease, b, took); err != nil {
		f.res = provider.FetchTasksResult{}
		return false, err
	}
	return took(), f.name(ctx)
}

// name names the tasks that were taken. A task past its time may be of a kind that this process does not know.
func (f *taskFetch) name(ctx context.Context) error {
	need := &needError{}
	for _, id := range f.taken {
		if _, known := f.c.kinds.get().ByTask[id]; !known {
			need.numbers = append(need.numbers, id)
		}
	}
	if need.kind() {
		if err := f.c.kinds.load(ctx, f.c.db.pool, need); err != nil {
			f.undo()
			return err
		}
	}
	for i := range f.res.Tasks {
		task, of := &f.res.Tasks[i], f.c.kinds.get().ByTask[f.taken[i]]
		task.Queue, task.Name, task.Priority = of.Queue, of.Name, int(of.Priority)
		if of.Class&relational.InSession == 0 {
			f.c.cache.addTask(&relational.Task{
				TaskRef: task.TaskRef, Kind: f.taken[i], State: provider.TaskLeased, Token: provider.TaskToken(f.req.Token, task.TaskRef),
			})
		}
	}
	return nil
}

// collect reads the tasks that were taken.
func (f *taskFetch) collect(rows pgx.Rows) error {
	f.taken = nil
	for rows.Next() {
		task, kind, err := f.scan(rows)
		if err != nil {
			return err
		}
		f.res.Tasks, f.taken = append(f.res.Tasks, task), append(f.taken, kind)
	}
	return rows.Err()
}

// scan reads a task and the number of its kind.
func (f *taskFetch) scan(rows pgx.Rows) (task provider.LeasedTask, kind int64, err error) {
	var execution int64
	var status, ended provider.Status
	var deleting bool
	err = rows.Scan(into(&task.Key), &task.Execution, &task.EventID, &kind, &task.Payload, &task.Attempt, &task.Deliveries, &task.LeaseUntil,
		&task.CancelRequested, &task.ScheduledAt, &task.StartBy, &task.Deadline, &task.PastDeadline, &task.Rank, &task.Details, &task.Failure, &f.res.Now,
		&task.InstanceID, &status, &deleting, &execution, &ended)
	if err != nil {
		return task, 0, err
	}
	switch {
	case status == 0 || deleting || task.Execution > execution:
		task.State = provider.ExecutionState{Kind: provider.ExecutionMissing}
	case task.Execution < execution && ended == 0:
		task.State = provider.ExecutionState{Kind: provider.ExecutionMissing}
	case task.Execution < execution:
		task.State = provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: ended}
	case status.Ended():
		task.State = provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: status}
	default:
		task.State = provider.ExecutionState{Kind: provider.ExecutionRunning}
	}
	return task, kind, nil
}

func (f *taskFetch) due(ctx context.Context) (now, next provider.Time, err error) {
	now, at, err := f.c.db.nextDue(ctx, sqlNextTask, f.kinds(false).ids, f.req.Expired)
	f.res.Now = now
	if at == nil {
		return now, relational.Never, err
	}
	return now, *at, err
}

// undo gives the tasks back, each with its delivery.
func (f *taskFetch) undo() {
	req := provider.ReportTasksRequest{}
	for i := range f.res.Tasks {
		ref := f.res.Tasks[i].TaskRef
		req.Items = append(req.Items, provider.TaskReport{
			TaskRef: ref, Token: provider.TaskToken(f.req.Token, ref), Attempt: f.res.Tasks[i].Attempt, Outcome: provider.TaskRelease,
		})
	}
	f.res = provider.FetchTasksResult{}
	f.c.group.later("fetch tasks", relational.ReportNeeds(&req), func(t *relational.Tx) error {
		var res provider.ReportTasksResult
		return t.ReportTasks(&req, &res)
	})
}
