package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// reader serves the reads that look at many instances.
type reader struct {
	db      *database
	commits *commits // counted by stats
	janitor *janitor // counted by stats
}

//nolint:gochecknoglobals // constant
var dialect = relational.Dialect{
	Table: defaultSchema + ".", True: "true", Mark: func(n int) string { return "$" + strconv.Itoa(n) },
	UUID: func(u provider.UUID) any { return uuid(u) }, Order: " ORDER BY i.created_at DESC, i.key DESC",
	ByKey: "JOIN LATERAL (SELECT * FROM " + defaultSchema + ".instance x WHERE x.key = ANY(ARRAY[d.found]) ORDER BY x.key OFFSET 0) i ON true",
	Among: " = ANY(ARRAY[?])",
}

const (
	sqlStatuses = `SELECT status, count(*) FROM perdure.instance GROUP BY status`
	// Each kind is looked up by its number and status, up to a limit. The index has the oldest one at an end.
	sqlRunning = `SELECT k.name, k.code_version, sum(c.n)::bigint, min(c.oldest) FROM perdure.kind k CROSS JOIN (VALUES (1), (2)) s (status)
	CROSS JOIN LATERAL (SELECT (SELECT count(*) FROM (SELECT 1 FROM perdure.instance i
			WHERE i.status = s.status AND i.kind = k.id LIMIT $1) l) AS n,
		(SELECT i.created_at FROM perdure.instance i WHERE i.status = s.status AND i.kind = k.id ORDER BY i.created_at, i.key LIMIT 1) AS oldest) c
	WHERE c.n > 0 GROUP BY k.name, k.code_version ORDER BY 1, 2`
	// An index that a limit ends is not read whole first.
	sqlNoBitmaps = `SELECT set_config('enable_bitmapscan', 'off', true)`
	sqlCounts    = `SELECT c.now, (SELECT count(*) FROM perdure.instance WHERE blocked),
	(SELECT count(*) FROM perdure.instance WHERE lease_token IS NOT NULL AND lease_until > c.now),
	(SELECT count(*) FROM perdure.task WHERE state = 2 AND lease_until > c.now),
	(SELECT count(*) FROM perdure.dead_letter) FROM (SELECT ` + sqlNow + ` AS now) c`
	sqlWaitingTurns = `SELECT k.name, k.code_version, k.engine_level, count(*), min(i.ready_at) FROM perdure.instance i
	JOIN perdure.kind k ON k.id = i.kind WHERE i.fetch_at > 0 AND i.fetch_at <= ` + sqlNow + ` GROUP BY k.id ORDER BY 1, 2, 3`
	// A task that is ranked by fairness waits since before its rank. The class of a session is a bit of the priority.
	sqlWaitingTasks = `SELECT k.queue, k.name, count(*), min(t.since), sum(k.priority / 32 % 2)::bigint FROM (
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
		pool = r.db.reserve
		b.Queue(sqlByIndex)
		b.Queue("SELECT " + sqlNow).QueryRow(func(r pgx.Row) error { return r.Scan(&res.Now) })
	}
	if all || req.Waiting {
		r.queueWaiting(b, &res)
	}
	if all || req.Running {
		r.queueRunning(b, req.Most, &res)
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
			if err := rows.Scan(&t.Queue, &t.Name, &t.Count, &t.Oldest, &t.InSession); err != nil {
				return err
			}
			res.Tasks = append(res.Tasks, t)
		}
		return rows.Err()
	})
}

// queueRunning queues the counts of instances that have not ended, up to most of each.
func (r *reader) queueRunning(b *pgx.Batch, most int64, res *provider.StatsResult) {
	var limit *int64 // none
	if most > 0 {
		one := most + 1 // which says that there are more
		limit = &one
	}
	b.Queue(sqlNoBitmaps)
	b.Queue(r.db.names.sql(sqlRunning), limit).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n provider.RunningInstances
			if err := rows.Scan(&n.Name, &n.CodeVersion, &n.Count, &n.Oldest); err != nil {
				return err
			}
			n.Limit(most)
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
