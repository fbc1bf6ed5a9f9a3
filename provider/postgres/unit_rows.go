package postgres

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// kindRows are the kinds as a unit sees them.
type kindRows struct {
	t       *txn
	missing *needError // collects missing kinds, so that one transaction stores all; nil: the first ends the call
}

// Kinds implements [relational.Rows].
func (r *kindRows) Kinds() (*relational.Kinds, error) { return r.t.kinds.get(), nil }

// NewTurnKind implements [relational.Rows]. A transaction of its own stores the kind, so that it stays if this one
// fails.
func (r *kindRows) NewTurnKind(kind relational.TurnKind) (int64, error) {
	if r.missing == nil {
		return 0, &needError{turns: []relational.TurnKind{kind}}
	}
	r.missing.turns = append(r.missing.turns, kind)
	return relational.Unnumbered, nil // nothing of the call will be written
}

// Unknown implements [relational.Rows]. The kinds of this process may be old.
func (r *kindRows) Unknown(id int64) error { return &needError{numbers: []int64{id}} }

// NewTaskKind implements [relational.Rows].
func (r *kindRows) NewTaskKind(kind relational.TaskKind) (int64, error) {
	if r.missing == nil {
		return 0, &needError{tasks: []relational.TaskKind{kind}}
	}
	r.missing.tasks = append(r.missing.tasks, kind)
	return relational.Unnumbered, nil
}

// historyRows are the events that a unit adds.
type historyRows struct{ t *txn }

// AppendEvents implements [relational.Rows].
func (r *historyRows) AppendEvents(h *relational.Head, count int, packed []byte) error {
	row := historyRow{h.Key, h.Execution, h.Length + 1, int64(count), slices.Clone(packed)}
	r.t.ops.history = append(r.t.ops.history, row)
	return nil
}

// AddExecution implements [relational.Rows].
func (r *historyRows) AddExecution(key provider.UUID, execution int64, status provider.Status, length int64, at provider.Time) error {
	r.t.ops.executions = append(r.t.ops.executions, executionRow{executionRef{key, execution}, status, length, at})
	return nil
}

// ExecutionStatus implements [relational.Rows].
func (r *historyRows) ExecutionStatus(key provider.UUID, execution int64) (provider.Status, error) {
	rows, err := r.t.query(`SELECT status FROM perdure.execution WHERE key = $1 AND execution = $2`, uuid(key), execution)
	if err != nil {
		return 0, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int16])
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return provider.Status(list[0]), nil
}

// sessionRows are the sessions that a unit uses.
type sessionRows struct{ t *txn }

const (
	// Whether the owner of session s holds it at an instant.
	sqlHeldFrom = `(least(s.lease_until, s.idle_until) > `
	sqlHeldOr   = ` OR EXISTS (SELECT 1 FROM perdure.task k WHERE k.session = s.id
	AND k.session <> '' AND k.state = 2 AND k.owner = s.owner AND k.lease_until > `
	sqlHeldEnd = `))`
	sqlHeld    = sqlHeldFrom + sqlNow + sqlHeldOr + sqlNow + sqlHeldEnd
	sqlHeldAt2 = sqlHeldFrom + `$2` + sqlHeldOr + `$2` + sqlHeldEnd
	// Rows of sessions are locked after those of tasks, in the order of their IDs, and only by transactions that lock
	// no tasks afterwards.
	// By a lease that does not claim the session, the last owner of one that has ended would hold it again: those are removed.
	sqlUseSessions = `WITH w AS (SELECT s.id, ` + sqlHeldAt2 + ` AS held FROM perdure.session s WHERE s.id = ANY($1::text[] || $3::text[])
	ORDER BY s.id FOR UPDATE), forgotten AS (DELETE FROM perdure.session s USING w WHERE s.id = w.id AND NOT w.held)
	UPDATE perdure.session s SET idle_until = $2 + s.idle FROM w WHERE s.id = w.id AND w.held AND s.id = ANY($1::text[])`
	sqlExtendSessions = `WITH w AS (SELECT s.id FROM perdure.session s WHERE s.owner = $1 AND ` + sqlHeldAt2 + ` ORDER BY s.id FOR UPDATE)
	UPDATE perdure.session s SET lease_until = $2 + $3 FROM w WHERE s.id = w.id AND s.owner = $1 RETURNING 1`
	// These run after all other writes of a transaction. They lock their rows in order first.
	sqlLockSessions  = `SELECT 1 FROM perdure.session s WHERE s.id = ANY($1::text[]) OR s.key = ANY($2::uuid[]) ORDER BY s.id FOR UPDATE`
	sqlEndSessions   = `UPDATE perdure.session s SET idle = 0, idle_until = 0 WHERE s.id = ANY($1::text[]) RETURNING 1`
	sqlLeaveSessions = `DELETE FROM perdure.session s WHERE s.key = ANY($1::uuid[])
	AND NOT EXISTS (SELECT 1 FROM perdure.task t WHERE t.session = s.id AND t.session <> '') RETURNING 1`
	sqlHandSessions = `UPDATE perdure.session s SET key = (SELECT t.key FROM perdure.task t WHERE t.session = s.id AND t.session <> ''
	ORDER BY t.scheduled_at, t.key LIMIT 1) WHERE s.key = ANY($1::uuid[])`
	sqlOldSessions = `DELETE FROM perdure.session WHERE id IN (SELECT s.id FROM perdure.session s WHERE NOT ` + sqlHeld + `
	ORDER BY s.id FOR UPDATE SKIP LOCKED)`
)

// TasksWatched implements [relational.Rows]. The unit has read the tasks that its calls name, so to watch them costs nothing.
func (r *sessionRows) TasksWatched() (bool, error) { return true, nil }

// UseSession implements [relational.Rows].
func (r *sessionRows) UseSession(task *relational.Task) error {
	r.t.ops.used = append(r.t.ops.used, task.Session)
	return nil
}

// ForgetEnded implements [relational.Rows].
func (r *sessionRows) ForgetEnded(session string) error {
	r.t.ops.leasedIn = append(r.t.ops.leasedIn, session)
	return nil
}

// ExtendSessions implements [relational.Rows].
func (r *sessionRows) ExtendSessions(owner string, lease time.Duration) (int, error) {
	rows, err := r.t.query(sqlExtendSessions, owner, int64(r.t.now), lease.Microseconds())
	if err != nil {
		return 0, err
	}
	held, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	return len(held), err
}

// LeaveSessions implements [relational.Rows]. A store without sessions pays nothing for it. A session that is claimed at the same moment, for a
// task of an instance that ends, ends when it is idle.
func (r *sessionRows) LeaveSessions(key provider.UUID) error {
	if r.t.ownTx || r.t.kinds.get().Sessions() || r.t.kinds.stale.Load() {
		r.t.ops.leaveSessions = append(r.t.ops.leaveSessions, key)
	}
	return nil
}

// EndSessions implements [relational.Rows].
func (r *sessionRows) EndSessions(ids []string) error {
	r.t.ops.endedSessions = append(r.t.ops.endedSessions, ids...)
	return nil
}
