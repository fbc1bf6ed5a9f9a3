package sqlite

import (
	"context"

	"github.com/perdure/perdure/provider"
)

const (
	sqlStatuses = `SELECT status, count(*) FROM perdure_instance GROUP BY status`
	// Each kind is looked up by its number and status, up to a limit. The index has the oldest one at an end.
	sqlRunning = `WITH each AS MATERIALIZED (SELECT k.name, k.code_version,
			(SELECT count(*) FROM (SELECT 1 FROM perdure_instance i WHERE i.kind = k.id AND i.status = s.status LIMIT ?1)) AS n,
			(SELECT i.created_at FROM perdure_instance i WHERE i.kind = k.id AND i.status = s.status ORDER BY i.created_at LIMIT 1) AS oldest
			FROM perdure_kind k CROSS JOIN (SELECT 1 AS status UNION ALL SELECT 2) s)
		SELECT name, code_version, sum(n), min(oldest) FROM each WHERE n > 0 GROUP BY name, code_version ORDER BY name, code_version`
	sqlBlockedCount = `SELECT count(*) FROM perdure_instance WHERE blocked = 1`
	sqlWaitingTurns = `SELECT k.name, k.code_version, k.engine_level, count(*), min(i.ready_at)
		FROM perdure_instance i INDEXED BY perdure_instance_fetch JOIN perdure_kind k ON k.id = i.kind
		WHERE i.fetch_at <= ? GROUP BY k.id ORDER BY k.name, k.code_version, k.engine_level`
	// A task that is ranked by fairness has waited since before its rank. The class of a session is a bit of the priority.
	sqlWaitingTasks = `SELECT k.queue, k.name, count(*), min(t.since), sum(k.priority / 32 % 2) FROM (
			SELECT kind, fetch_at AS since, expire_at FROM perdure_task INDEXED BY perdure_task_fetch
				WHERE fetch_at <= ?1 AND fetch_at IS NOT rank_at
			UNION ALL SELECT kind, not_before_at, expire_at FROM perdure_task INDEXED BY perdure_task_fair
				WHERE rank_at IS NOT NULL AND fetch_at = rank_at) t
		JOIN perdure_task_kind k ON k.id = t.kind
		WHERE t.expire_at IS NULL OR t.expire_at > ?1 GROUP BY k.queue, k.name ORDER BY k.queue, k.name`
	sqlTurnLeases  = `SELECT count(*) FROM perdure_instance WHERE lease_until > ? AND lease_until > 0`
	sqlTaskLeases  = `SELECT count(*) FROM perdure_task WHERE lease_until > ? AND lease_until > 0`
	sqlDeadLetters = `SELECT count(*) FROM perdure_dead_letter`
)

// Counters implements [provider.Counter].
func (rd *reader) Counters() provider.Counters {
	w := rd.store.writer
	if w == nil {
		return provider.Counters{}
	}
	return provider.Counters{
		Commits: w.commits.Load(), CommitGroups: w.committer.turns.Load(), Dropped: w.committer.dropped.Load(),
		ReadyMended: rd.store.janitor.repaired.Load(), AskLooks: w.answerReads.Load(),
	}
}

// Stats implements [provider.Meter]. An expired lease that was not swept yet counts neither as a lease nor as waiting work.
func (rd *reader) Stats(ctx context.Context, req provider.StatsRequest) (res provider.StatsResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	s := rd.store
	res = provider.StatsResult{
		Instances: make(map[provider.Status]int64), Now: s.clock.wall(),
	}
	all := !req.Waiting && !req.Running
	err = rd.readSnapshot(ctx, "stats", func(c *conn) error {
		var err error
		if all {
			err = s.counts(ctx, c, &res)
		}
		if err == nil && (all || req.Waiting) {
			err = s.waiting(ctx, c, &res)
		}
		if err == nil && (all || req.Running) {
			err = running(ctx, c, req.Most, &res)
		}
		return err
	})
	if err != nil {
		return provider.StatsResult{}, err
	}
	return res, nil
}

// running counts the instances that have not ended, up to most of each kind, by index.
func running(ctx context.Context, c *conn, most int64, res *provider.StatsResult) error {
	limit := int64(-1) // none
	if most > 0 {
		limit = most + 1 // which says that there are more
	}
	return c.each(ctx, sqlRunning, func(r *row) error {
		n := provider.RunningInstances{
			Capability: provider.Capability{Name: r.text(0), CodeVersion: r.text(1)}, Count: r.int(2), Oldest: r.time(3),
		}
		n.Limit(most)
		res.Running = append(res.Running, n)
		return nil
	}, limit)
}

// counts reads large parts of the store.
func (s *store) counts(ctx context.Context, c *conn, res *provider.StatsResult) error {
	elapsed := s.clock.elapsed()
	for _, n := range []struct {
		into *int64
		sql  string
		args []any
	}{
		{&res.Blocked, sqlBlockedCount, nil},
		{&res.TurnLeases, sqlTurnLeases, []any{elapsed}},
		{&res.TaskLeases, sqlTaskLeases, []any{elapsed}},
		{&res.DeadLetters, sqlDeadLetters, nil},
	} {
		var err error
		if *n.into, err = c.integer(ctx, n.sql, n.args...); err != nil {
			return err
		}
	}
	return c.each(ctx, sqlStatuses, func(r *row) error {
		res.Instances[provider.Status(r.int(0))] = r.int(1)
		return nil
	})
}

// waiting reads the waiting work, by index.
func (s *store) waiting(ctx context.Context, c *conn, res *provider.StatsResult) error {
	err := c.each(ctx, sqlWaitingTurns, func(r *row) error {
		res.Turns = append(res.Turns, provider.WaitingTurns{
			Capability:  provider.Capability{Name: r.text(0), CodeVersion: r.text(1)},
			EngineLevel: r.int(2), Count: r.int(3), Oldest: r.time(4),
		})
		return nil
	}, res.Now)
	if err != nil {
		return err
	}
	return c.each(ctx, sqlWaitingTasks, func(r *row) error {
		res.Tasks = append(res.Tasks, provider.WaitingTasks{
			Queue: r.text(0), Name: r.text(1), Count: r.int(2), Oldest: r.time(3), InSession: r.int(4),
		})
		return nil
	}, res.Now)
}
