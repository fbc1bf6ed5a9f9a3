package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// Whether the owner of session s holds it at ?1, by the clock of leases.
	sqlHeld = `(CASE WHEN min(s.lease_until, s.idle_until) > ?1 THEN 1 ELSE EXISTS (SELECT 1 FROM perdure_task k
		INDEXED BY perdure_task_session WHERE k.session = s.id AND k.lease_until > ?1 AND k.state = 2 AND k.owner = s.owner) END)`
	sqlSession    = `SELECT s.owner, ` + sqlHeld + ` FROM perdure_session s WHERE s.id = ?2`
	sqlSessionsOf = `SELECT count(*) FROM perdure_session s WHERE s.owner = ?2 AND ` + sqlHeld
	sqlUseSession = `UPDATE perdure_session SET idle_until = ?1 + idle WHERE id = ?2`
	// By a lease that does not claim the session, the last owner of one that has ended would hold it again.
	sqlForgetEnded = `DELETE FROM perdure_session AS s WHERE s.id = ?2 AND NOT ` + sqlHeld
	sqlForgetOf    = `DELETE FROM perdure_session AS s
		WHERE s.id = (SELECT t.session FROM perdure_task t WHERE t.key = ?2 AND t.execution = ?3 AND t.event_id = ?4) AND NOT ` + sqlHeld
	// A session that several instances use ends with none of them.
	sqlUseOwnSession = `UPDATE perdure_session AS s SET idle_until = ?1 + idle, key = CASE WHEN key = ?4 THEN key END
		WHERE s.id = ?2 AND ` + sqlHeld + ` AND s.owner = ?3`
	sqlExtendSession = `UPDATE perdure_session AS s SET lease_until = ?3 WHERE s.owner = ?2 AND ` + sqlHeld
	sqlClaimSession  = `INSERT INTO perdure_session (id, owner, lease_until, idle_until, idle, key) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until, idle_until = excluded.idle_until,
		idle = excluded.idle, key = excluded.key`
	sqlLeaveSessions = `DELETE FROM perdure_session AS s WHERE s.key = ? AND NOT EXISTS (SELECT 1 FROM perdure_task t
		INDEXED BY perdure_task_session WHERE t.session = s.id)`
	sqlHandSessions = `UPDATE perdure_session AS s SET key = (SELECT t.key FROM perdure_task t INDEXED BY perdure_task_session
		WHERE t.session = s.id ORDER BY t.scheduled_at, t.key LIMIT 1) WHERE s.key = ?`
	sqlEndSession    = `UPDATE perdure_session SET idle = 0, idle_until = 0 WHERE id = ?`
	sqlSweepSessions = `DELETE FROM perdure_session AS s WHERE NOT ` + sqlHeld
	sqlNextSession   = `SELECT min(min(lease_until, idle_until)) FROM perdure_session WHERE min(lease_until, idle_until) > ?`
)

// sessionRows are the sessions of tasks.
type sessionRows struct {
	*unit

	watched bool // a fetch waits for a place in a queue
}

// TasksWatched implements [relational.Rows].
func (t *sessionRows) TasksWatched() (bool, error) {
	if t.watched {
		return true, nil
	}
	kinds, err := t.Rows.Kinds()
	return err == nil && kinds.Sessions(), err
}

// UseSession implements [relational.Rows].
func (t *sessionRows) UseSession(task *relational.Task) error {
	if err := t.ForgetEnded(task.Session); err != nil {
		return err
	}
	return t.do(sqlUseSession, t.Elapsed, task.Session)
}

// ForgetEnded implements [relational.Rows].
func (t *sessionRows) ForgetEnded(session string) error {
	return t.do(sqlForgetEnded, t.Elapsed, session)
}

// ExtendSessions implements [relational.Rows].
func (t *sessionRows) ExtendSessions(owner string, lease time.Duration) (int, error) {
	if err := t.enroll(owner); err != nil {
		return 0, err
	}
	n, err := t.exec(sqlExtendSession, t.Elapsed, owner, t.Elapsed+max(micros(lease), 1))
	return int(n), err
}

// LeaveSessions implements [relational.Rows].
func (t *sessionRows) LeaveSessions(key provider.UUID) error {
	kinds, err := t.Rows.Kinds()
	if err != nil || !kinds.Sessions() {
		return err
	}
	n, err := t.exec(sqlLeaveSessions, key)
	if err != nil {
		return err
	}
	if n > 0 {
		kinds.InSessions(t.Free)
	}
	return t.do(sqlHandSessions, key)
}

// EndSessions implements [relational.Rows].
func (t *sessionRows) EndSessions(ids []string) error {
	kinds, err := t.Rows.Kinds()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.do(sqlEndSession, id); err != nil {
			return err
		}
	}
	kinds.InSessions(t.Free)
	return nil
}

// claimSession makes the owner of a fetch the holder of a session that has none. The session ends with the instance of the task.
func (t *sessionRows) claimSession(id string, maker provider.UUID, req *provider.FetchTasksRequest) error {
	lease, idle := t.Elapsed+micros(req.Sessions.Lease), t.Elapsed+micros(req.Sessions.Idle)
	t.WakeElapsed(min(lease, idle))
	return t.do(sqlClaimSession, id, req.Owner, lease, idle, micros(req.Sessions.Idle), maker)
}

// sessionsOf counts the sessions that an owner holds.
func (t *sessionRows) sessionsOf(owner string) (int, error) {
	n, err := t.integer(sqlSessionsOf, t.Elapsed, owner)
	return int(n), err
}
