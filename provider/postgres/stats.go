package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

const (
	sqlStatuses = `SELECT status, count(*) FROM perdure.instance GROUP BY status`
	sqlCounts   = `SELECT c.now, (SELECT count(*) FROM perdure.instance WHERE blocked),
	(SELECT count(*) FROM perdure.instance WHERE lease_token IS NOT NULL AND lease_until > c.now),
	(SELECT count(*) FROM perdure.task WHERE state = 2 AND lease_until > c.now),
	(SELECT count(*) FROM perdure.dead_letter) FROM (SELECT ` + sqlNow + ` AS now) c`
	sqlWaitingTurns = `SELECT k.name, k.code_version, k.engine_level, count(*), min(i.ready_at) FROM perdure.instance i
	JOIN perdure.kind k ON k.id = i.kind WHERE i.fetch_at > 0 AND i.fetch_at <= ` + sqlNow + ` GROUP BY k.id ORDER BY 1, 2, 3`
	// What is ranked by fairness waits since before its rank.
	sqlWaitingTasks = `SELECT k.queue, k.name, count(*), min(t.since) FROM (
		SELECT kind, fetch_at AS since, expire_at FROM perdure.task WHERE fetch_at > 0 AND fetch_at <= ` + sqlNow + ` AND fetch_at <> rank_at
		UNION ALL SELECT kind, not_before_at, expire_at FROM perdure.task WHERE rank_at > 0 AND fetch_at = rank_at) t
	JOIN perdure.task_kind k ON k.id = t.kind WHERE t.expire_at = 0 OR t.expire_at > ` + sqlNow + `
	GROUP BY k.queue, k.name ORDER BY 1, 2`
)

// Stats implements [provider.Provider].
func (p *Provider) Stats(ctx context.Context, req provider.StatsRequest) (res provider.StatsResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	w := p.writer
	res = provider.StatsResult{
		Instances: make(map[provider.Status]int64), Commits: w.commits.Load(), CommitGroups: w.turns.Load(),
		Dropped: w.dropped.Load(), ReadyMended: p.janitor.mended.Load(),
	}
	b, pool := &pgx.Batch{}, p.pool
	if req.Waiting { // a start asks for it that may be about to join a transaction of the caller, which holds a connection
		pool = p.spare
		b.Queue(sqlByIndex)
		b.Queue("SELECT " + sqlNow).QueryRow(func(r pgx.Row) error { return r.Scan(&res.Now) })
	} else {
		p.queueCounts(b, &res)
	}
	b.Queue(p.names.sql(sqlWaitingTurns)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var t provider.WaitingTurns
			if err := rows.Scan(&t.Name, &t.CodeVersion, &t.EngineLevel, &t.Count, &t.Oldest); err != nil {
				return err
			}
			res.Turns = append(res.Turns, t)
		}
		return rows.Err()
	})
	b.Queue(p.names.sql(sqlWaitingTasks)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var t provider.WaitingTasks
			if err := rows.Scan(&t.Queue, &t.Name, &t.Count, &t.Oldest); err != nil {
				return err
			}
			res.Tasks = append(res.Tasks, t)
		}
		return rows.Err()
	})
	err = p.snapshotOn(ctx, pool, "stats", func(ctx context.Context, tx pgx.Tx) error { return tx.SendBatch(ctx, b).Close() })
	if err != nil {
		return provider.StatsResult{}, err
	}
	return res, nil
}

// queueCounts queues what reads large parts of the store.
func (p *Provider) queueCounts(b *pgx.Batch, res *provider.StatsResult) {
	b.Queue(p.names.sql(sqlCounts)).QueryRow(func(r pgx.Row) error {
		return r.Scan(&res.Now, &res.Blocked, &res.TurnLeases, &res.TaskLeases, &res.DeadLetters)
	})
	b.Queue(p.names.sql(sqlStatuses)).Query(func(rows pgx.Rows) error {
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
