package postgres

import (
	"cmp"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// inboxRows are the messages that a unit has read and changed.
type inboxRows struct {
	t     *txn
	inbox map[provider.UUID]*inbox
}

// inbox is what is known of one inbox, with its messages in order.
type inbox struct {
	list     []relational.Waiting
	events   map[int64]int64 // message IDs of the timers of the current execution, by event
	first    int             // how many of the first messages are known
	complete bool            // all are known
	removed  map[int64]struct{}
	shared   bool // another inbox uses events, too
}

const (
	// The first messages of each inbox, the named ones, and timers, all without payloads.
	sqlInboxMessages = `SELECT i.key, i.visible_at, i.id, coalesce(octet_length(i.payload), 0), i.timer, i.execution, i.event_id, true
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

// queueInbox reads the places of messages.
func (r *inboxRows) queueInbox(b *pgx.Batch, needs *relational.Needs) {
	var keys []provider.UUID
	var named []messageRef
	first := len(needs.Timers)
	for _, need := range needs.Inbox {
		if r.inbox[need.Key] == nil { // two calls may read one inbox
			keys = append(keys, need.Key)
		}
		first = max(first, need.First+len(need.Named)+len(needs.Timers))
		for _, id := range need.Named {
			named = append(named, messageRef{need.Key, id})
		}
		r.inbox[need.Key] = &inbox{}
	}
	c := &columns{args: []any{uuids(keys), first}}
	column(c, named, func(r *messageRef) pgtype.UUID { return uuid(r.key) })
	column(c, named, func(r *messageRef) int64 { return r.id })
	column(c, needs.Timers, func(r *provider.TaskRef) pgtype.UUID { return uuid(r.Key) })
	column(c, needs.Timers, func(r *provider.TaskRef) int64 { return r.Execution })
	column(c, needs.Timers, func(r *provider.TaskRef) int64 { return r.EventID })
	b.Queue(r.t.db.names.sql(sqlInboxMessages), c.args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var key provider.UUID
			var w relational.Waiting
			var event int64
			var among bool
			if err := rows.Scan(into(&key), &w.VisibleAt, &w.ID, &w.Bytes, &w.Timer, &w.Execution, &event, &among); err != nil {
				return err
			}
			box := r.inbox[key]
			if box == nil {
				continue // a timer of an inbox that nobody reads
			}
			box.list = append(box.list, w)
			if among {
				box.first++
			}
			if w.Timer {
				box.note(event, w.ID)
			}
		}
		for _, box := range r.inbox {
			box.settle(first)
		}
		return rows.Err()
	})
}

// settle sorts what was read, each message once.
func (b *inbox) settle(requested int) {
	b.complete = b.first < requested
	slices.SortFunc(b.list, func(a, b relational.Waiting) int {
		return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), cmp.Compare(a.ID, b.ID))
	})
	b.list = slices.CompactFunc(b.list, func(a, b relational.Waiting) bool { return a.ID == b.ID })
}

// Waiting implements [relational.Rows].
func (r *inboxRows) Waiting(key provider.UUID, named []int64, fn func(relational.Waiting) bool) error {
	box, err := r.box(key)
	if err != nil {
		return err
	}
	if !box.complete && box.first >= relational.ClosingMessages { // a closing commit with very many
		return r.readWaiting(key, fn)
	}
	for i, w := range box.list {
		if _, gone := box.removed[w.ID]; gone || !box.complete && i >= box.first && !slices.Contains(named, w.ID) {
			continue // beyond the first ones only named messages are known
		}
		if !fn(w) {
			return nil
		}
	}
	return nil
}

const sqlWaiting = `SELECT visible_at, id, coalesce(octet_length(payload), 0), timer, execution FROM perdure.inbox
	WHERE key = $1 ORDER BY visible_at, id`

// readWaiting reads a whole inbox from the database.
func (r *inboxRows) readWaiting(key provider.UUID, fn func(relational.Waiting) bool) error {
	rows, err := r.t.query(sqlWaiting, uuid(key))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var w relational.Waiting
		if err := rows.Scan(&w.VisibleAt, &w.ID, &w.Bytes, &w.Timer, &w.Execution); err != nil {
			return err
		}
		if !fn(w) {
			break
		}
	}
	rows.Close()
	return rows.Err()
}

// box returns what is known of an inbox.
func (r *inboxRows) box(key provider.UUID) (*inbox, error) {
	box := r.inbox[key]
	if box == nil {
		return nil, &needError{needs: relational.Needs{Keys: []provider.UUID{key}, Inbox: []relational.InboxNeed{{Key: key, First: 1}}}}
	}
	return box, nil
}

// FirstVisible implements [relational.Rows].
func (r *inboxRows) FirstVisible(key provider.UUID) (provider.Time, error) {
	box, err := r.box(key)
	if err != nil {
		return 0, err
	}
	for i, w := range box.list {
		if !box.complete && i >= box.first {
			break
		}
		if _, gone := box.removed[w.ID]; !gone {
			return w.VisibleAt, nil
		}
	}
	var at *provider.Time
	rows, err := r.t.query(`SELECT min(visible_at) FROM perdure.inbox WHERE key = $1`, uuid(key))
	if err != nil {
		return 0, err
	}
	at, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[*provider.Time])
	if err != nil || at == nil {
		return 0, err
	}
	return *at, nil
}

// Timers implements [relational.Rows].
func (r *inboxRows) Timers(key provider.UUID, execution int64) (count, bytes int64, err error) {
	box, err := r.box(key)
	if err != nil {
		return 0, 0, err
	}
	if box.complete {
		for _, w := range box.list {
			if _, gone := box.removed[w.ID]; !gone && w.Timer && w.Execution == execution {
				count, bytes = count+1, bytes+w.Bytes
			}
		}
		return count, bytes, nil
	}
	rows, err := r.t.query(`SELECT count(*), coalesce(sum(octet_length(payload)), 0)::bigint FROM perdure.inbox
		WHERE key = $1 AND execution = $2 AND timer`, uuid(key), execution)
	if err != nil {
		return 0, 0, err
	}
	_, err = pgx.CollectExactlyOneRow(rows, func(r pgx.CollectableRow) (struct{}, error) { return struct{}{}, r.Scan(&count, &bytes) })
	return count, bytes, err
}

// PutMessage implements [relational.Rows].
func (r *inboxRows) PutMessage(key provider.UUID, m *relational.Message) error {
	r.t.ops.messages = append(r.t.ops.messages, messageRow{*m, key})
	box := r.inbox[key]
	if box == nil {
		return nil
	}
	before := *box
	r.t.ops.later(func() { *box = before })
	if m.Timer {
		r.t.ops.later(func() { delete(box.events, m.EventID) })
	}
	box.put(m)
	return nil
}

// put inserts a message at its place, if that is known.
func (b *inbox) put(m *relational.Message) {
	w := relational.Waiting{Place: m.Place, Bytes: int64(len(m.Payload)), Timer: m.Timer, Execution: m.Execution}
	i, _ := slices.BinarySearchFunc(b.list, w, func(a, b relational.Waiting) int {
		return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), cmp.Compare(a.ID, b.ID))
	})
	if m.Timer {
		b.note(m.EventID, m.ID)
	}
	if b.complete || i < b.first {
		if i < len(b.list) {
			b.list = slices.Clone(b.list) // a copy of the earlier inbox must not change
		}
		b.list = slices.Insert(b.list, i, w)
		b.first++
	}
}

// note records the message of a timer.
func (b *inbox) note(event, id int64) {
	if b.shared || b.events == nil {
		events := make(map[int64]int64, len(b.events)+1)
		maps.Copy(events, b.events)
		b.events, b.shared = events, false
	}
	b.events[event] = id
}

// RemoveMessages implements [relational.Rows].
func (r *inboxRows) RemoveMessages(key provider.UUID, consumed relational.Consumed) error {
	for _, place := range consumed.Places {
		r.consume(key, place.ID)
	}
	return nil
}

func (r *inboxRows) consume(key provider.UUID, id int64) {
	r.t.ops.consumed = append(r.t.ops.consumed, messageRef{key, id})
	box := r.inbox[key]
	if box == nil {
		return
	}
	if box.removed == nil {
		box.removed = make(map[int64]struct{})
	}
	box.removed[id] = struct{}{}
	r.t.ops.later(func() { delete(box.removed, id) })
}

// RemoveTimer implements [relational.Rows].
func (r *inboxRows) RemoveTimer(key provider.UUID, _, event int64) (bytes int64, found bool, err error) {
	box, err := r.box(key)
	if err != nil {
		return 0, false, err
	}
	id, ok := box.events[event]
	if !ok {
		return 0, false, nil
	}
	if _, gone := box.removed[id]; gone {
		return 0, false, nil
	}
	i := slices.IndexFunc(box.list, func(w relational.Waiting) bool { return w.ID == id })
	if i < 0 { // an earlier call of the group has put it beyond what is known
		return 0, false, errOwnTx
	}
	r.consume(key, id)
	return box.list[i].Bytes, true, nil
}

// RemoveTimers implements [relational.Rows]. The next execution numbers its events again.
func (r *inboxRows) RemoveTimers(key provider.UUID, execution int64) error {
	r.t.ops.noTimers = append(r.t.ops.noTimers, executionRef{key, execution})
	box := r.inbox[key]
	if box == nil {
		return nil
	}
	before := *box
	r.t.ops.later(func() { *box = before })
	kept := make([]relational.Waiting, 0, len(box.list))
	for i, w := range box.list {
		if !w.Timer || w.Execution != execution {
			kept = append(kept, w)
		} else if i < before.first {
			box.first--
		}
	}
	box.list, box.events, box.shared = kept, nil, false
	return nil
}

// DeadLetterInbox implements [relational.Rows].
func (r *inboxRows) DeadLetterInbox(h *relational.Head, reason string, now provider.Time) error {
	r.t.ops.inboxDeadLetters = append(r.t.ops.inboxDeadLetters, inboxDeadLetter{h.Key, h.ID, reason, now})
	return nil
}

// copied returns an inbox that a unit may change. Its list and timers are shared until then.
func (b *inbox) copied() *inbox {
	return &inbox{list: slices.Clip(b.list), first: len(b.list), complete: true, events: b.events, shared: true}
}

// noMessages is an empty inbox. It is never changed.
var noMessages = &inbox{complete: true} //nolint:gochecknoglobals // constant

// remaining returns the messages that are left, nil if they are not known.
func (b *inbox) remaining(h *relational.Head) *inbox {
	if h.Inbox == 0 {
		return noMessages
	}
	if b == nil || !b.complete {
		return nil
	}
	if len(b.removed) == 0 && int64(len(b.list)) == h.Inbox && len(b.list) <= maxCachedInbox {
		return b
	}
	kept := &inbox{complete: true}
	for _, w := range b.list {
		if _, gone := b.removed[w.ID]; !gone {
			kept.list = append(kept.list, w)
		}
	}
	for event, id := range b.events {
		if _, gone := b.removed[id]; !gone {
			kept.note(event, id)
		}
	}
	if int64(len(kept.list)) != h.Inbox || len(kept.list) > maxCachedInbox {
		return nil
	}
	return kept
}

// inboxOf returns an inbox with exactly these messages.
func inboxOf(messages []provider.Message) *inbox {
	box := &inbox{complete: true, list: make([]relational.Waiting, 0, len(messages))}
	for i := range messages {
		m := &messages[i]
		place := relational.Place{VisibleAt: m.VisibleAt, ID: m.ID}
		box.list = append(box.list, relational.Waiting{Place: place, Bytes: int64(len(m.Payload)), Timer: m.Timer, Execution: m.Execution})
		if m.Timer {
			box.note(m.EventID, m.ID)
		}
	}
	return box
}
