package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// What ends the leases of dead processes. Nobody is waited for: what others hold meanwhile comes with the next pulse, since
// the rows of the dead stay for a while. An owner that a living process serves, too, is not gone.
const (
	sqlGone = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now),
	gone AS MATERIALIZED (SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.renewed_at <= $1
		EXCEPT SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.renewed_at > $1
		EXCEPT SELECT o.owner FROM unnest($2::text[]) o (owner))`
	sqlEndTurnsOf = sqlGone + `,
	held AS MATERIALIZED (SELECT i.key FROM perdure.instance i WHERE i.lease_token IS NOT NULL AND i.lease_until > (SELECT now FROM clock)
		AND i.lease_owner IN (SELECT owner FROM gone) ORDER BY i.key FOR UPDATE SKIP LOCKED)
	UPDATE perdure.instance i SET lease_until = c.now, fetch_at = CASE WHEN i.fetch_at = i.lease_until THEN c.now ELSE i.fetch_at END
	FROM held, clock c WHERE i.key = held.key RETURNING i.kind`
	// Those of suspended instances stand apart. When the task is past its time counts from now on, and no more the end of the lease.
	sqlEndTasksOf = sqlGone + `,
	held AS MATERIALIZED (SELECT d.* FROM perdure.task_kind k CROSS JOIN LATERAL (
		SELECT t.key, t.execution, t.event_id FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at > 0 AND t.fetch_at > (SELECT now FROM clock)
			AND t.state = 2 AND t.lease_until > (SELECT now FROM clock) AND t.owner IN (SELECT owner FROM gone) FOR UPDATE SKIP LOCKED) d
		UNION ALL SELECT d.* FROM perdure.task_kind k CROSS JOIN LATERAL (
		SELECT t.key, t.execution, t.event_id FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at = 0 AND t.state = 2
			AND t.lease_until > (SELECT now FROM clock) AND t.owner IN (SELECT owner FROM gone) FOR UPDATE SKIP LOCKED) d)
	UPDATE perdure.task t SET lease_until = c.now, fetch_at = CASE WHEN t.fetch_at = t.lease_until THEN c.now ELSE t.fetch_at END,
		expire_at = CASE WHEN t.expire_at = 0 THEN 0 WHEN t.begun OR t.start_by_at = 0 THEN t.deadline_at
			WHEN t.deadline_at = 0 THEN t.start_by_at ELSE least(t.start_by_at, t.deadline_at) END
	FROM held, clock c WHERE t.key = held.key AND t.execution = held.execution AND t.event_id = held.event_id
	RETURNING t.kind, t.expire_at > 0 AND t.expire_at <= c.now`
	sqlEndSessionsOf = sqlGone + `,
	held AS MATERIALIZED (SELECT s.id FROM perdure.session s WHERE s.owner IN (SELECT owner FROM gone) AND ` + sqlHeld + `
		ORDER BY s.id FOR UPDATE SKIP LOCKED)
	UPDATE perdure.session s SET lease_until = c.now FROM held, clock c WHERE s.id = held.id RETURNING 1`
	sqlStrikeProcesses = `DELETE FROM perdure.process WHERE renewed_at <= $1`
)

// bury ends the leases of processes that are dead: their rows were not renewed since limit. Tokens keep safe who is buried alive.
func (s *presence) bury(ctx context.Context, limit provider.Time) error {
	fx := relational.NewEffects()
	fx.Freed = make(map[int64]struct{})
	b, known := &pgx.Batch{}, s.known()
	b.Queue(s.p.names.sql(sqlEndTurnsOf), limit, known).Query(func(rows pgx.Rows) error {
		var kind int64
		_, err := pgx.ForEachRow(rows, []any{&kind}, func() error {
			fx.Turns[kind] = struct{}{}
			return nil
		})
		return err
	})
	b.Queue(s.p.names.sql(sqlEndTasksOf), limit, known).Query(func(rows pgx.Rows) error {
		var kind int64
		var late bool
		_, err := pgx.ForEachRow(rows, []any{&kind, &late}, func() error {
			fx.Tasks[kind], fx.Freed[kind] = struct{}{}, struct{}{}
			fx.Expired = fx.Expired || late
			return nil
		})
		return err
	})
	sessions := int64(0)
	b.Queue(s.p.names.sql(sqlEndSessionsOf), limit, known).Query(func(rows pgx.Rows) error {
		rows.Close()
		sessions = rows.CommandTag().RowsAffected()
		return rows.Err()
	})
	b.Queue(s.p.names.sql(sqlStrikeProcesses), max(limit.Add(-silence), 0))
	if err := s.p.spare.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("ending leases of dead processes: %w", err)
	}
	if sessions > 0 { // whoever waits for tasks of them
		for kind := range s.p.kinds.get().ByTask {
			fx.Tasks[kind] = struct{}{}
		}
	}
	s.p.signals.hint(&fx)
	return nil
}
