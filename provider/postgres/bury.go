package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// What ends the leases of owners that are gone: those of processes that are silent, and those of one that closes the store. An owner
// that a living process serves, too, is not gone. Nobody is waited for: what others hold meanwhile comes with the next pulse, since the
// rows of the silent stay for a while.
const (
	sqlClock  = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now),`
	sqlSilent = sqlClock + `
	gone AS MATERIALIZED (SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.renewed_at <= $1
		EXCEPT SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.renewed_at > $1)`
	sqlOwn = sqlClock + `
	gone AS MATERIALIZED (SELECT o.owner FROM unnest($1::text[]) o (owner)
		EXCEPT SELECT o.owner FROM perdure.process n, unnest(n.owners) o (owner) WHERE n.id <> $2)`
	sqlEndTurnsOf = `,
	held AS MATERIALIZED (SELECT i.key FROM perdure.instance i WHERE i.lease_token IS NOT NULL AND i.lease_until > (SELECT now FROM clock)
		AND i.lease_owner IN (SELECT owner FROM gone) ORDER BY i.key FOR UPDATE SKIP LOCKED)
	UPDATE perdure.instance i SET lease_until = c.now, fetch_at = CASE WHEN i.fetch_at = i.lease_until THEN c.now ELSE i.fetch_at END
	FROM held, clock c WHERE i.key = held.key RETURNING i.kind`
	// Those of suspended instances stand apart. When the task is past its time counts from now on, and no more the end of the lease.
	sqlEndTasksOf = `,
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
	sqlEndSessionsOf = `,
	held AS MATERIALIZED (SELECT s.id FROM perdure.session s WHERE s.owner IN (SELECT owner FROM gone) AND ` + sqlHeld + `
		ORDER BY s.id FOR UPDATE SKIP LOCKED)
	UPDATE perdure.session s SET lease_until = c.now FROM held, clock c WHERE s.id = held.id RETURNING 1`
	sqlStrike = `DELETE FROM perdure.process WHERE renewed_at <= $1 OR id = $2`
)

// burySilent ends the leases of processes whose rows were not renewed since limit. Tokens keep safe who is buried alive.
func (s *presence) burySilent(ctx context.Context, limit provider.Time) error {
	return s.bury(ctx, sqlSilent, []any{limit}, limit.Add(-silence), "")
}

// buryOwn ends the leases of owners of this process, which show themselves no more.
func (s *presence) buryOwn(ctx context.Context, owners []string) error {
	return s.bury(ctx, sqlOwn, []any{owners, s.process}, 0, s.process)
}

func (s *presence) bury(ctx context.Context, gone string, args []any, old provider.Time, process string) error {
	fx := relational.NewEffects()
	fx.Freed = make(map[int64]struct{})
	b := &pgx.Batch{}
	b.Queue(s.p.names.sql(gone+sqlEndTurnsOf), args...).Query(func(rows pgx.Rows) error {
		var kind int64
		_, err := pgx.ForEachRow(rows, []any{&kind}, func() error {
			fx.Turns[kind] = struct{}{}
			return nil
		})
		return err
	})
	b.Queue(s.p.names.sql(gone+sqlEndTasksOf), args...).Query(func(rows pgx.Rows) error {
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
	b.Queue(s.p.names.sql(gone+sqlEndSessionsOf), args...).Query(func(rows pgx.Rows) error {
		rows.Close()
		sessions = rows.CommandTag().RowsAffected()
		return rows.Err()
	})
	b.Queue(s.p.names.sql(sqlStrike), old, process)
	if err := s.p.spare.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("ending leases of owners that are gone: %w", err)
	}
	if sessions > 0 { // whoever waits for tasks of them
		for kind := range s.p.kinds.get().ByTask {
			fx.Tasks[kind] = struct{}{}
		}
	}
	s.p.signals.hint(&fx)
	return nil
}
