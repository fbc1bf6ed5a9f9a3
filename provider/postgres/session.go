package postgres

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// Whether the owner of session s holds it at an instant.
	sqlHeldFrom = `(least(s.lease_until, s.idle_until) > `
	sqlHeldOr   = ` OR EXISTS (SELECT 1 FROM perdure.task k WHERE k.session = s.id
	AND k.session <> '' AND k.state = 2 AND k.owner = s.owner AND k.lease_until > `
	sqlHeldEnd = `))`
	sqlHeld    = sqlHeldFrom + sqlNow + sqlHeldOr + sqlNow + sqlHeldEnd
	sqlHeldAt2 = sqlHeldFrom + `$2` + sqlHeldOr + `$2` + sqlHeldEnd
	// Rows of sessions are locked after those of tasks, in the order of their IDs, and only by who does not wait for tasks afterwards.
	sqlUseSessions = `WITH w AS (SELECT s.id FROM perdure.session s WHERE s.id = ANY($1::text[]) AND ` + sqlHeldAt2 + `
	ORDER BY s.id FOR UPDATE) UPDATE perdure.session s SET idle_until = $2 + s.idle FROM w WHERE s.id = w.id`
	sqlExtendSessions = `WITH w AS (SELECT s.id FROM perdure.session s WHERE s.owner = $1 AND ` + sqlHeldAt2 + ` ORDER BY s.id FOR UPDATE)
	UPDATE perdure.session s SET lease_until = $2 + $3 FROM w WHERE s.id = w.id AND s.owner = $1 RETURNING 1`
	sqlOldSessions = `DELETE FROM perdure.session WHERE id IN (SELECT s.id FROM perdure.session s WHERE NOT ` + sqlHeld + `
	ORDER BY s.id FOR UPDATE SKIP LOCKED)`
	sqlEraseTasks = `DELETE FROM perdure.task WHERE key = $1 RETURNING kind, lease_until`
)

// TasksWatched implements [relational.Rows]: a unit knows all tasks that its calls name.
func (u *unit) TasksWatched() (bool, error) { return true, nil }

// UseSession implements [relational.Rows].
func (u *unit) UseSession(task *relational.Task) error {
	u.ops.used = append(u.ops.used, task.Session)
	return nil
}

// ExtendSessions implements [relational.Rows].
func (u *unit) ExtendSessions(owner string, lease time.Duration) (int, error) {
	rows, err := u.query(sqlExtendSessions, owner, int64(u.now), lease.Microseconds())
	if err != nil {
		return 0, err
	}
	held, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	return len(held), err
}

// queueNoTasks removes the tasks of executions.
func (u *unit) queueNoTasks(b *pgx.Batch, refs []executionRef) {
	if len(refs) == 0 {
		return
	}
	c := &columns{lone: len(refs) == 1}
	fillExecutions(c, refs)
	u.queueTasksOff(b, u.p.names.over(sqlNoTasks, len(refs)), c.args...)
}

// free notes that leased tasks of a kind were removed.
func (u *unit) free(kind int64) {
	if u.freed == nil {
		u.freed = make(map[int64]struct{})
	}
	u.freed[kind] = struct{}{}
}

// queueTasksOff removes tasks and notes which of them were leased.
func (u *unit) queueTasksOff(b *pgx.Batch, sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var kind int64
			var until provider.Time
			if err := rows.Scan(&kind, &until); err != nil {
				return err
			}
			if until > 0 {
				u.free(kind)
			}
		}
		return rows.Err()
	})
}
