package postgres

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

// txn is one transaction on a connection, and the writes that it defers.
type txn struct {
	db    *database
	kinds *kinds
	clock *clock          // gets the storage's times that the transaction reads
	ctx   context.Context //nolint:containedctx // a txn lives as long as one transaction, whose context it is
	conn  *pgx.Conn
	wait  bool // for locks that others hold, instead of skipping such instances
	// ownTx says that one call runs here. It may then read what its request did not name, after the deferred writes
	// were sent.
	ownTx  bool
	joined bool         // the caller began the transaction and will end it
	before planSettings // of a caller's transaction

	now   provider.Time
	freed map[int64]struct{} // kinds of leased tasks that were removed with their execution
	ops   ops
}

const (
	// Each statement must see what was committed before it, whatever the database's default is.
	sqlBegin = `BEGIN ISOLATION LEVEL READ COMMITTED`
	// A group whose node dies must not hold its locks for long.
	sqlSettings = sqlByIndex + `, ` + sqlNow + `, set_config('lock_timeout', $1, true),
	set_config('idle_in_transaction_session_timeout', $2, true)`
)

// queueBegin opens the transaction. Its time is that of the begin, or of the last lock, which it may have waited for.
func (t *txn) queueBegin(b *pgx.Batch) {
	limit := groupLockTimeout
	if t.wait {
		limit = lockTimeout
	}
	b.Queue(sqlBegin)
	b.Queue(sqlSettings, milliseconds(limit), milliseconds(t.db.opts.Timeout)).QueryRow(func(r pgx.Row) error {
		return r.Scan(nil, nil, nil, &t.now, nil, nil)
	})
}

// milliseconds formats a duration for Postgres, which does not accept Go's form of minutes.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}

// planSettings are the caller's own settings, because its transaction does not end here.
type planSettings struct{ seqScan, jit, cache string }

// queueJoin reads and changes the settings in a caller's transaction.
func (t *txn) queueJoin(b *pgx.Batch) {
	was := &t.before
	b.Queue(`SELECT current_setting('enable_seqscan'), current_setting('jit'), current_setting('plan_cache_mode')`).
		QueryRow(func(r pgx.Row) error { return r.Scan(&was.seqScan, &was.jit, &was.cache) })
	b.Queue(sqlByIndexJoined + `, ` + sqlNow).QueryRow(func(r pgx.Row) error { return r.Scan(nil, nil, nil, &t.now) })
}

// queueLeave restores the settings of the caller's transaction. After an error the savepoint does.
func (t *txn) queueLeave(b *pgx.Batch) {
	b.Queue(`SELECT set_config('enable_seqscan', $1, true), set_config('jit', $2, true), set_config('plan_cache_mode', $3, true)`,
		t.before.seqScan, t.before.jit, t.before.cache)
}

// query sends the deferred writes and then reads what needs did not name.
func (t *txn) query(sql string, args ...any) (pgx.Rows, error) {
	if err := t.send(); err != nil {
		return nil, err
	}
	return t.conn.Query(t.ctx, t.db.names.sql(sql), args...)
}

// exchange sends a batch and reads its results. A caller's connection may use another protocol.
func (t *txn) exchange(b *pgx.Batch) error {
	if t.joined {
		return t.conn.SendBatch(t.ctx, b).Close()
	}
	return t.db.exchange(t.ctx, t.conn, b)
}

// send sends the deferred writes, without the end of the transaction.
func (t *txn) send() error {
	if !t.ownTx {
		return errOwnTx
	}
	b := &pgx.Batch{}
	t.queueOps(b)
	if b.Len() == 0 {
		return nil
	}
	return t.exchange(b)
}

// keys reads a column of keys.
func (t *txn) keys(sql string, args ...any) ([]provider.UUID, error) {
	rows, err := t.query(sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (key provider.UUID, err error) { return key, r.Scan(into(&key)) })
}

// queueNoTasks removes the tasks of executions.
func (t *txn) queueNoTasks(b *pgx.Batch, refs []executionRef) {
	if len(refs) == 0 {
		return
	}
	c := &columns{oneRow: len(refs) == 1}
	fillExecutions(c, refs)
	t.queueTasksOff(b, t.db.names.over(sqlNoTasks, len(refs)), c.args...)
}

// queueTasksOff removes tasks and records which of them were leased.
func (t *txn) queueTasksOff(b *pgx.Batch, sql string, args ...any) {
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var kind int64
			var until provider.Time
			if err := rows.Scan(&kind, &until); err != nil {
				return err
			}
			if until > 0 {
				t.free(kind)
			}
		}
		return rows.Err()
	})
}

// free records that leased tasks of a kind were removed.
func (t *txn) free(kind int64) {
	if t.freed == nil {
		t.freed = make(map[int64]struct{})
	}
	t.freed[kind] = struct{}{}
}

// commitStep runs a single step.
func (t *txn) commitStep(step boundStatement) (xid uint32, err error) {
	var a answer
	if err = t.db.sendStep(t.ctx, t.conn, step); err == nil {
		err = a.receive(t.ctx, t.conn.PgConn())
	}
	return t.takeResult(&a, err)
}

// takeResult takes over what the storage returned.
func (t *txn) takeResult(a *answer, err error) (xid uint32, _ error) {
	if useless(err) {
		_ = t.conn.Close(t.ctx) // the connection is closed in any case
	}
	if err != nil {
		return 0, err
	}
	t.clock.observe(a.now)
	for _, kind := range a.freed {
		t.free(kind)
	}
	return a.xid, nil
}

// rollback ends a transaction without a trace. It closes a connection that cannot roll back; the server ends the
// transaction then.
func (t *txn) rollback() {
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return
	}
	if _, err := t.conn.Exec(t.ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Close(t.ctx) // the connection is closed in any case
	}
}

// queueOps queues all statements, in the order in which their effects may depend on each other.
func (t *txn) queueOps(b *pgx.Batch) {
	o := &t.ops
	o.dropTaken()
	s := sender{t.db.names, b}
	if len(o.used)+len(o.leasedIn) > 0 { // before what they are based on changes
		b.Queue(t.db.names.sql(sqlUseSessions), o.used, int64(t.now), o.leasedIn)
	}
	s.keys(sqlRetire, o.retired)
	put(s, sqlDeleteConsumed, o.consumed, fillConsumed)
	s.taskDeadLetters(o.taskDeadLetters)
	put(s, sqlEndTasks, o.ended, fillEnded)
	put(s, sqlHistory, o.history, fillHistory)
	s.tasks(o.tasks)
	s.changedTasks(o.changed)
	s.messages(o.messages)
	s.executionRefs(sqlNoTimers, o.noTimers)
	put(s, sqlDeadLetterInbox, o.inboxDeadLetters, func(c *columns, rows []inboxDeadLetter) {
		column(c, rows, func(r *inboxDeadLetter) pgtype.UUID { return uuid(r.key) })
		column(c, rows, func(r *inboxDeadLetter) string { return r.instance })
		column(c, rows, func(r *inboxDeadLetter) string { return r.reason })
		column(c, rows, func(r *inboxDeadLetter) int64 { return int64(r.at) })
	})
	t.queueNoTasks(b, o.noTasks)
	put(s, sqlExecutions, o.executions, func(c *columns, rows []executionRow) {
		column(c, rows, func(r *executionRow) pgtype.UUID { return uuid(r.key) })
		column(c, rows, func(r *executionRow) int64 { return r.execution })
		column(c, rows, func(r *executionRow) int16 { return int16(r.status) })
		column(c, rows, func(r *executionRow) int64 { return r.length })
		column(c, rows, func(r *executionRow) int64 { return int64(r.at) })
	})
	o.heads = append(s.instances(o.instances), o.heads...)
	s.listeners(o.listeners)
	s.descriptions(o)
	s.keys(sqlUnblock, o.unblocked)
	put(s, sqlBlock, o.blocked, func(c *columns, rows []blockedRow) {
		column(c, rows, func(r *blockedRow) pgtype.UUID { return uuid(r.key) })
		column(c, rows, func(r *blockedRow) string { return r.reason })
		column(c, rows, func(r *blockedRow) []byte { return []byte(r.message) }) // any bytes
		column(c, rows, func(r *blockedRow) int64 { return int64(r.at) })
		column(c, rows, func(r *blockedRow) bool { return r.fresh })
	})
	s.keys(sqlHoldTasks, o.heldTasks)
	s.heads(o.heads)
	if len(o.erased) > 0 {
		t.queueTasksOff(b, t.db.names.sql(sqlErase), uuids(o.erased))
	}
	t.queueSessionEnds(b, o.endedSessions, slices.Concat(o.leaveSessions, o.erased))
	*o = ops{undo: o.undo}
}

// How long a transaction waits for another one. A group waits only where it can skip no row: for a transaction that
// inserts the same ID. Calls that wait for an instance take turns.
const (
	groupLockTimeout = 50 * time.Millisecond
	lockTimeout      = 200 * time.Millisecond
)

// queueSessionEnds queues the ends of sessions, by name and by the instances that they end with.
func (t *txn) queueSessionEnds(b *pgx.Batch, ids []string, over []provider.UUID) {
	if len(ids)+len(over) == 0 {
		return
	}
	sql := t.db.names.sql
	ended := func(rows pgx.Rows) error {
		rows.Close()
		if rows.CommandTag().RowsAffected() > 0 {
			t.kinds.get().InSessions(t.free)
		}
		return rows.Err()
	}
	b.Queue(sql(sqlLockSessions), ids, uuids(over))
	if len(ids) > 0 {
		b.Queue(sql(sqlEndSessions), ids).Query(ended)
	}
	if len(over) > 0 {
		b.Queue(sql(sqlLeaveSessions), uuids(over)).Query(ended)
		b.Queue(sql(sqlHandSessions), uuids(over))
	}
}
