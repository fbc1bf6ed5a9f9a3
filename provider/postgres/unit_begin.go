package postgres

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlHeadColumns = `i.key, i.id, i.kind, i.status, i.deleting, i.execution, i.version, i.history_length, i.history_bytes,
	i.parent_key, i.parent_execution, i.parent_event, i.blocked, i.retry_at, i.updated_at, i.ended_at, i.ready_at,
	i.inbox_messages, i.inbox_bytes, i.next_message, i.deliveries, i.lease_token, i.lease_owner, i.lease_until,
	i.sticky_owner, i.sticky_until, i.not_before_at, i.fetch_at, i.request_id, i.current`
	// Rows are locked in the order of their keys, after the sort.
	sqlLock = `SELECT ` + sqlHeadColumns + ` FROM perdure.instance i WHERE i.key = ANY($1::uuid[])
	ORDER BY i.key FOR UPDATE OF i`
	sqlLockIDs = `SELECT ` + sqlHeadColumns + ` FROM perdure.instance i WHERE i.key = ANY($1::uuid[])
	OR i.current AND i.id = ANY($2::text[]) ORDER BY i.key FOR UPDATE OF i`
	sqlSkip = ` SKIP LOCKED`
	// What is there, locked by whomever.
	sqlThere    = `SELECT key, id, current FROM perdure.instance WHERE key = ANY($1::uuid[])`
	sqlThereIDs = `SELECT key, id, current FROM perdure.instance WHERE key = ANY($1::uuid[]) OR current AND id = ANY($2::text[])`
	// Each statement must see what was committed before it, whatever the database's default is.
	sqlBegin = `BEGIN ISOLATION LEVEL READ COMMITTED`
	// A group that dies with its node must not hold its locks for long.
	sqlBegun = `SELECT ` + sqlNow + `, set_config('lock_timeout', $1, true),
	set_config('idle_in_transaction_session_timeout', $2, true)`
	sqlLockTasks = `SELECT t.key, t.execution, t.event_id, t.kind, t.state, t.attempt, t.deliveries, t.token, t.owner, t.lease_until,
	t.cancel, t.not_before_at, t.deadline_at, t.fetch_at, t.expire_at, t.start_by_at, t.begun, t.rank_at, t.session
	FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) w (key, execution, event_id)
	JOIN perdure.task t USING (key, execution, event_id) ORDER BY t.key, t.execution, t.event_id FOR UPDATE OF t`
	sqlTasksThere = `SELECT key, execution, event_id FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) w (key, execution, event_id)
	JOIN perdure.task t USING (key, execution, event_id)`
	sqlPeek = `SELECT ` + sqlHeadColumns + ` FROM perdure.instance i WHERE i.key = ANY($1::uuid[])`
	// The first messages of each inbox, those that are named, and timers: without payloads.
	sqlLook = `SELECT i.key, i.visible_at, i.id, coalesce(octet_length(i.payload), 0), i.timer, i.execution, i.event_id, true
	FROM unnest($1::uuid[]) w (key) CROSS JOIN LATERAL (SELECT * FROM perdure.inbox m WHERE m.key = w.key
		ORDER BY m.visible_at, m.id LIMIT $2) i
	UNION ALL SELECT i.key, i.visible_at, i.id, coalesce(octet_length(i.payload), 0), i.timer, i.execution, i.event_id, false
	FROM unnest($3::uuid[], $4::bigint[]) w (key, id) JOIN perdure.inbox i USING (key, id)
	UNION ALL SELECT i.key, i.visible_at, i.id, coalesce(octet_length(i.payload), 0), i.timer, i.execution, i.event_id, false
	FROM unnest($5::uuid[], $6::bigint[], $7::bigint[]) w (key, execution, event_id)
	JOIN perdure.inbox i USING (key, execution, event_id) WHERE i.timer`
)

// How long a transaction waits for another one. A group waits only where no row can be passed over: for one that
// inserts the same ID. Calls that wait for an instance take turns.
const (
	groupLockTimeout = 50 * time.Millisecond
	lockTimeout      = 200 * time.Millisecond
)

// begin opens the transaction, unless it is the caller's, locks what the calls need and reads it: one round trip.
func (u *unit) begin(needs relational.Needs) error {
	slices.SortFunc(needs.Keys, func(a, b provider.UUID) int { return slices.Compare(a[:], b[:]) })
	needs.Keys = slices.Compact(needs.Keys)
	b := &pgx.Batch{}
	if !u.joined {
		u.queueBegin(b)
	}
	u.queueLocks(b, &needs)
	if len(needs.Tasks) > 0 {
		u.queueTasks(b, needs.Tasks)
	}
	if len(needs.Peek) > 0 { // after the tasks: while one of them is locked its execution cannot end
		u.queuePeek(b, needs.Peek)
	}
	if len(needs.Lanes) > 0 {
		u.queueTurns(b, needs.Lanes)
	}
	if len(needs.Inbox) > 0 {
		u.queueLook(b, &needs)
	}
	// The clock once more: the locks may have been waited for.
	b.Queue(`SELECT ` + sqlNow).QueryRow(func(r pgx.Row) error { return r.Scan(&u.now) })
	return u.conn.SendBatch(u.ctx, b).Close()
}

// queueBegin opens the transaction. The time is that of its begin, until it is read once more.
func (u *unit) queueBegin(b *pgx.Batch) {
	patience := groupLockTimeout
	if u.wait {
		patience = lockTimeout
	}
	b.Queue(sqlBegin)
	b.Queue(sqlBegun, milliseconds(patience), milliseconds(u.p.opts.Timeout)).QueryRow(func(r pgx.Row) error {
		var lock, idle string
		return r.Scan(&u.now, &lock, &idle)
	})
}

// milliseconds writes a duration for Postgres, which does not read Go's form of minutes.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}

// queuePeek reads instances that nobody changes here.
func (u *unit) queuePeek(b *pgx.Batch, keys []provider.UUID) {
	for _, key := range keys {
		if _, known := u.rows[key]; !known {
			u.rows[key] = nil
		}
	}
	b.Queue(u.p.names.sql(sqlPeek), uuids(keys)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			row, err := scanStored(rows)
			if err != nil {
				return err
			}
			if _, held := u.held[row.Key]; !held && u.rows[row.Key] == nil {
				u.rows[row.Key] = row
			}
		}
		return rows.Err()
	})
}

// queueLocks locks the instances and finds out which ones are held by others.
func (u *unit) queueLocks(b *pgx.Batch, needs *relational.Needs) {
	lock, there, args := sqlLock, sqlThere, []any{uuids(needs.Keys)}
	if len(needs.IDs) > 0 {
		lock, there, args = sqlLockIDs, sqlThereIDs, append(args, needs.IDs)
	}
	if !u.wait {
		lock += sqlSkip
	}
	for _, key := range needs.Keys {
		u.rows[key] = nil
	}
	for _, id := range needs.IDs {
		u.ids[id] = provider.UUID{}
	}
	b.Queue(u.p.names.sql(lock), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			row, err := scanStored(rows)
			if err != nil {
				return err
			}
			u.rows[row.Key] = row
			if row.current {
				u.ids[row.ID] = row.Key
			}
		}
		return rows.Err()
	})
	b.Queue(u.p.names.sql(there), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key provider.UUID
			var id string
			var current bool
			if err := rows.Scan(into(&key), &id, &current); err != nil {
				return err
			}
			if u.rows[key] == nil {
				u.held[key] = struct{}{}
				if current {
					u.heldID[id] = struct{}{}
				}
			}
		}
		return rows.Err()
	})
}

func scanStored(rows pgx.Rows) (*stored, error) {
	var s stored
	h := &s.Head
	err := rows.Scan(into(&h.Key), &h.ID, &h.Kind, &h.Status, &h.Deleting, &h.Execution, into(&h.Version), &h.Length, &h.Bytes,
		into(&h.Parent.Key), &h.Parent.Execution, &h.Parent.EventID, &h.Blocked, &h.RetryAt, &h.UpdatedAt, &h.EndedAt, &h.ReadyAt,
		&h.Inbox, &h.InboxBytes, &h.NextMessage, &h.Deliveries, into(&h.LeaseToken), &h.LeaseOwner, &h.LeaseUntil,
		&h.StickyOwner, &h.StickyUntil, &h.NotBefore, &h.FetchAt, &s.request, &s.current)
	return &s, err
}

func (u *unit) queueTasks(b *pgx.Batch, refs []provider.TaskRef) {
	for _, ref := range refs {
		u.tasks[ref] = nil
	}
	c := &columns{}
	column(c, refs, func(r *provider.TaskRef) pgtype.UUID { return uuid(r.Key) })
	column(c, refs, func(r *provider.TaskRef) int64 { return r.Execution })
	column(c, refs, func(r *provider.TaskRef) int64 { return r.EventID })
	lock := sqlLockTasks
	if !u.wait {
		lock += sqlSkip
	}
	b.Queue(u.p.names.sql(lock), c.args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var t relational.Task
			err := rows.Scan(into(&t.Key), &t.Execution, &t.EventID, &t.Kind, &t.State, &t.Attempt, &t.Deliveries, into(&t.Token),
				&t.Owner, &t.LeaseUntil, &t.Cancel, &t.NotBefore, &t.Deadline, &t.FetchAt, &t.ExpireAt,
				&t.StartBy, &t.Begun, &t.Rank, &t.Session)
			if err != nil {
				return err
			}
			u.tasks[t.TaskRef] = &t
		}
		return rows.Err()
	})
	if u.wait {
		return
	}
	b.Queue(u.p.names.sql(sqlTasksThere), c.args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ref provider.TaskRef
			if err := rows.Scan(into(&ref.Key), &ref.Execution, &ref.EventID); err != nil {
				return err
			}
			if u.tasks[ref] == nil {
				u.heldTasks[ref] = struct{}{}
			}
		}
		return rows.Err()
	})
}

// queueLook reads the places of messages.
func (u *unit) queueLook(b *pgx.Batch, needs *relational.Needs) {
	var keys []provider.UUID
	var named []messageRef
	first := len(needs.Timers)
	for _, look := range needs.Inbox {
		if u.inbox[look.Key] == nil { // two calls may look at one inbox
			keys = append(keys, look.Key)
		}
		first = max(first, look.First+len(look.Named)+len(needs.Timers))
		for _, id := range look.Named {
			named = append(named, messageRef{look.Key, id})
		}
		u.inbox[look.Key] = &inbox{events: make(map[int64]int64)}
	}
	c := &columns{args: []any{uuids(keys), first}}
	column(c, named, func(r *messageRef) pgtype.UUID { return uuid(r.key) })
	column(c, named, func(r *messageRef) int64 { return r.id })
	column(c, needs.Timers, func(r *provider.TaskRef) pgtype.UUID { return uuid(r.Key) })
	column(c, needs.Timers, func(r *provider.TaskRef) int64 { return r.Execution })
	column(c, needs.Timers, func(r *provider.TaskRef) int64 { return r.EventID })
	b.Queue(u.p.names.sql(sqlLook), c.args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key provider.UUID
			var w relational.Waiting
			var event int64
			var among bool
			if err := rows.Scan(into(&key), &w.VisibleAt, &w.ID, &w.Bytes, &w.Timer, &w.Execution, &event, &among); err != nil {
				return err
			}
			box := u.inbox[key]
			if box == nil {
				continue // a timer of an inbox that nobody looks at
			}
			box.list = append(box.list, w)
			if among {
				box.first++
			}
			if w.Timer {
				box.events[event] = w.ID
			}
		}
		for _, box := range u.inbox {
			box.settle(first)
		}
		return rows.Err()
	})
}

// settle puts what was read in order, each message once.
func (b *inbox) settle(asked int) {
	b.complete = b.first < asked
	slices.SortFunc(b.list, func(a, b relational.Waiting) int {
		return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), cmp.Compare(a.ID, b.ID))
	})
	b.list = slices.CompactFunc(b.list, func(a, b relational.Waiting) bool { return a.ID == b.ID })
}
