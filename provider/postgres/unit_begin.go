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
	// Rows are locked one after the other, in the order of their keys. Of those that others hold is told that they are there.
	sqlLock = `SELECT w.key, NULL::text, ` + sqlNow + `, ` + sqlThere + `, ` + sqlHeadColumns + `
	FROM (SELECT key FROM unnest($1::uuid[]) k (key) ORDER BY key) w` + sqlEachLocked
	sqlLockIDs = `SELECT w.key, w.id, ` + sqlNow + `, ` + sqlThere + `, ` + sqlHeadColumns + `
	FROM (SELECT key, NULL::text AS id FROM unnest($1::uuid[]) k (key)
		UNION ALL SELECT f.key, n.id FROM unnest($2::text[]) n (id)
		CROSS JOIN LATERAL (SELECT key FROM perdure.instance WHERE id = n.id AND current OFFSET 0) f ORDER BY key) w` + sqlEachLocked
	sqlThere      = `i.key IS NOT NULL OR EXISTS (SELECT 1 FROM perdure.instance x WHERE x.key = w.key)`
	sqlEachLocked = ` LEFT JOIN LATERAL (SELECT * FROM perdure.instance x WHERE x.key = w.key FOR UPDATE`
	sqlLocked     = `) i ON true`
	sqlSkip       = ` SKIP LOCKED`
	// Each statement must see what was committed before it, whatever the database's default is.
	sqlBegin = `BEGIN ISOLATION LEVEL READ COMMITTED`
	// A group that dies with its node must not hold its locks for long.
	sqlBegun = sqlByIndex + `, ` + sqlNow + `, set_config('lock_timeout', $1, true),
	set_config('idle_in_transaction_session_timeout', $2, true)`
	sqlLockTasks = `SELECT w.key, w.execution, w.event_id, ` + sqlNow + `,
	t.key IS NOT NULL OR EXISTS (SELECT 1 FROM perdure.task x WHERE ` + sqlSameTask + `),
	t.kind, t.state, t.attempt, t.deliveries, t.token, t.owner, t.lease_until, t.cancel, t.not_before_at, t.deadline_at, t.fetch_at,
	t.expire_at, t.start_by_at, t.begun, t.rank_at, t.session
	FROM (SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) n (key, execution, event_id) ORDER BY 1, 2, 3) w
	LEFT JOIN LATERAL (SELECT * FROM perdure.task x WHERE ` + sqlSameTask + ` FOR UPDATE`
	sqlTasksLocked = `) t ON true`
	sqlSameTask    = `x.key = w.key AND x.execution = w.execution AND x.event_id = w.event_id`
	sqlPeek        = `SELECT ` + sqlHeadColumns + ` FROM perdure.instance i WHERE i.key = ANY($1::uuid[])`
	// The first messages of each inbox, those that are named, and timers: without payloads.
	sqlLook = `SELECT i.key, i.visible_at, i.id, coalesce(octet_length(i.payload), 0), i.timer, i.execution, i.event_id, true
	FROM unnest($1::uuid[]) w (key) CROSS JOIN LATERAL (SELECT * FROM perdure.inbox m WHERE m.key = w.key
		ORDER BY m.visible_at, m.id LIMIT $2) i
	UNION ALL SELECT i.key, i.visible_at, i.id, coalesce(octet_length(i.payload), 0), i.timer, i.execution, i.event_id, false
	FROM unnest($3::uuid[], $4::bigint[]) w (key, id)
	CROSS JOIN LATERAL (SELECT * FROM perdure.inbox m WHERE m.key = w.key AND m.id = w.id OFFSET 0) i
	UNION ALL SELECT i.key, i.visible_at, i.id, coalesce(octet_length(i.payload), 0), i.timer, i.execution, i.event_id, false
	FROM unnest($5::uuid[], $6::bigint[], $7::bigint[]) w (key, execution, event_id)
	CROSS JOIN LATERAL (SELECT * FROM perdure.inbox m WHERE m.key = w.key AND m.execution = w.execution AND m.event_id = w.event_id
		AND m.timer OFFSET 0) i`
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
	if u.joined {
		u.queueJoin(b)
	} else {
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
	if err := u.exchange(b); err != nil {
		return err
	}
	u.p.warm.clock.heard(u.now)
	return nil
}

// queueBegin opens the transaction. The time is that of its begin, or of the last lock: that may have been waited for.
func (u *unit) queueBegin(b *pgx.Batch) {
	patience := groupLockTimeout
	if u.wait {
		patience = lockTimeout
	}
	b.Queue(sqlBegin)
	b.Queue(sqlBegun, milliseconds(patience), milliseconds(u.p.opts.Timeout)).QueryRow(func(r pgx.Row) error {
		return r.Scan(nil, nil, nil, &u.now, nil, nil)
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
	if len(needs.Keys)+len(needs.IDs) == 0 {
		return
	}
	lock, args := sqlLock, []any{uuids(needs.Keys)}
	if len(needs.IDs) > 0 {
		lock, args = sqlLockIDs, append(args, needs.IDs)
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
	b.Queue(u.p.names.sql(lock+sqlLocked), args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := u.readLocked(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// readLocked reads what became of one wanted instance. One that was found by its ID and has lost it since counts as held: somebody
// else has the ID now.
func (u *unit) readLocked(rows pgx.Rows) error {
	const before = 4 // columns of what was wanted
	var key provider.UUID
	var id *string
	var there bool
	if rows.RawValues()[before] == nil {
		args := make([]any, len(rows.RawValues()))
		copy(args, []any{into(&key), &id, &u.now, &there})
		if err := rows.Scan(args...); err != nil || !there {
			return err
		}
		u.held[key] = struct{}{}
		if id != nil {
			u.heldID[*id] = struct{}{}
		}
		return nil
	}
	row, err := scanStored(rows, into(&key), &id, &u.now, &there)
	if err != nil {
		return err
	}
	u.rows[row.Key] = row
	if row.current {
		u.ids[row.ID] = row.Key
	} else if id != nil {
		u.heldID[*id] = struct{}{}
	}
	return nil
}

// scanStored reads sqlHeadColumns, and what a statement has before them.
func scanStored(rows pgx.Rows, before ...any) (*stored, error) {
	var s stored
	h := &s.Head
	err := rows.Scan(append(before, into(&h.Key), &h.ID, &h.Kind, &h.Status, &h.Deleting, &h.Execution, into(&h.Version), &h.Length, &h.Bytes,
		into(&h.Parent.Key), &h.Parent.Execution, &h.Parent.EventID, &h.Blocked, &h.RetryAt, &h.UpdatedAt, &h.EndedAt, &h.ReadyAt,
		&h.Inbox, &h.InboxBytes, &h.NextMessage, &h.Deliveries, into(&h.LeaseToken), &h.LeaseOwner, &h.LeaseUntil,
		&h.StickyOwner, &h.StickyUntil, &h.NotBefore, &h.FetchAt, &s.request, &s.current)...)
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
	b.Queue(u.p.names.sql(lock+sqlTasksLocked), c.args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := u.readTask(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// readTask reads what became of one wanted task.
func (u *unit) readTask(rows pgx.Rows) error {
	const before = 5 // columns of what was wanted
	var t relational.Task
	var there bool
	args := []any{into(&t.Key), &t.Execution, &t.EventID, &u.now, &there}
	if rows.RawValues()[before] == nil {
		args = append(args, make([]any, len(rows.RawValues())-before)...)
		if err := rows.Scan(args...); err != nil || !there {
			return err
		}
		u.heldTasks[t.TaskRef] = struct{}{}
		return nil
	}
	err := rows.Scan(append(args, &t.Kind, &t.State, &t.Attempt, &t.Deliveries, into(&t.Token), &t.Owner, &t.LeaseUntil, &t.Cancel,
		&t.NotBefore, &t.Deadline, &t.FetchAt, &t.ExpireAt, &t.StartBy, &t.Begun, &t.Rank, &t.Session)...)
	u.tasks[t.TaskRef] = &t
	return err
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
		u.inbox[look.Key] = &inbox{}
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
				box.note(event, w.ID)
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
