package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// An index range for each kind, in its order. Rows that others claim or change are skipped. If the first one is due
	// within half of the time ahead, the claim looks ahead and takes many at once. An instance that is delayed by more
	// than its messages is not claimed ahead.
	sqlClaimTurns = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now),
	reach AS MATERIALIZED (SELECT now, CASE WHEN $6::bigint > 0 AND EXISTS (SELECT FROM unnest($1::bigint[]) k (id) CROSS JOIN LATERAL (
		SELECT FROM perdure.instance i WHERE i.kind = k.id AND i.fetch_at > 0
		AND i.fetch_at <= (SELECT now FROM clock) + $6 / 2 LIMIT 1) near) THEN now + $6 ELSE now END AS until FROM clock),
	due AS MATERIALIZED (SELECT d.key, d.ready_at FROM unnest($1::bigint[]) k (id) CROSS JOIN LATERAL (
		SELECT i.key, i.ready_at, i.fetch_at FROM perdure.instance i WHERE i.kind = k.id AND i.fetch_at > 0
		AND i.fetch_at <= (SELECT until FROM reach) AND (i.fetch_at <= i.ready_at OR i.fetch_at <= (SELECT now FROM clock))
		AND (i.sticky_until <= (SELECT now FROM clock) OR i.sticky_owner = $3)
		ORDER BY i.fetch_at LIMIT $2 FOR UPDATE SKIP LOCKED) d ORDER BY d.ready_at, d.fetch_at LIMIT $2),
	taken AS (UPDATE perdure.instance i SET lease_token = $4, lease_owner = $3, lease_until = (SELECT now FROM clock) + $5,
		fetch_at = (SELECT now FROM clock) + $5, deliveries = i.deliveries + 1 FROM due WHERE i.key = ANY(ARRAY[due.key]) RETURNING i.*)
	SELECT ` + instanceColumns + `, (SELECT now FROM clock), i.kind, i.inbox_bytes, i.next_message, i.lease_until, i.sticky_owner,
	i.sticky_until, i.not_before_at, i.fetch_at, i.current, i.listened, txid_current() & 4294967295 FROM taken i JOIN perdure.kind k ON k.id = i.kind
	LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[i.key]) ORDER BY i.ready_at, i.key`
	// As many as fit, and one more to show that there are others.
	sqlTurnMessages = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now)
	SELECT i.key, m.id, m.kind, m.execution, m.event_id, m.timer, m.visible_at, m.payload
	FROM (SELECT key FROM perdure.instance WHERE lease_token = $1 OFFSET 0) i CROSS JOIN LATERAL (
		SELECT x.*, sum(coalesce(octet_length(x.payload), 0)) OVER (ORDER BY x.visible_at, x.id)
		- coalesce(octet_length(x.payload), 0) AS before, row_number() OVER (ORDER BY x.visible_at, x.id) AS place
		FROM (SELECT * FROM perdure.inbox b WHERE b.key = i.key
		AND b.visible_at <= (SELECT now FROM clock) + $4 ORDER BY b.visible_at, b.id LIMIT $2) x) m
	WHERE m.before <= $3 OR m.place <= 2 ORDER BY i.key, m.visible_at, m.id`
	sqlTurnAttributes = `SELECT a.key, a.name, a.kind, a.text, a.number FROM
	(SELECT key FROM perdure.instance WHERE lease_token = $1 AND attributes OFFSET 0) i
	CROSS JOIN LATERAL (SELECT * FROM perdure.attribute a WHERE a.key = i.key OFFSET 0) a ORDER BY a.key, a.name`
	// When the next one is due, or can be claimed $3 ahead. For those already due it is when the first of them is free.
	// The first ones of a long line are enough for that. This statement is in the transaction of the claim, so the
	// claim polled no earlier.
	sqlNextTurn = `WITH clock AS MATERIALIZED (SELECT ` + sqlNow + ` AS now)
	SELECT c.now, (SELECT min(n.at) FROM unnest($1::bigint[]) k (id) CROSS JOIN LATERAL (
		(SELECT i.fetch_at AS at FROM perdure.instance i WHERE i.kind = k.id AND i.fetch_at > 0
			AND i.fetch_at > (SELECT now FROM clock) ORDER BY i.fetch_at LIMIT 1)
		UNION ALL (SELECT greatest(i.fetch_at - $3::bigint, (SELECT now FROM clock) + 1) FROM perdure.instance i WHERE $3 > 0 AND i.kind = k.id
			AND i.fetch_at > 0 AND i.fetch_at > ` + sqlTransactionNow + ` + $3 ORDER BY i.fetch_at LIMIT 1)
		UNION ALL SELECT CASE WHEN s.sticky_owner = $2 THEN 0 ELSE s.sticky_until END FROM (
			SELECT i.sticky_owner, i.sticky_until FROM perdure.instance i WHERE i.kind = k.id AND i.fetch_at > 0
			AND i.fetch_at <= (SELECT now FROM clock) ORDER BY i.fetch_at LIMIT 100) s) n) FROM clock c`
)

// turnFetch is one FetchTurns.
type turnFetch struct {
	c   *claims
	req provider.FetchTurnsRequest
	res provider.FetchTurnsResult
	got []*cachedRow // what is known of the turns; each row is as it was read

	piggybacked  bool          // with a group
	polled, next provider.Time // when the next one is due, and when that was polled
}

func (f *turnFetch) wants(s *signal) bool {
	kinds := f.c.kinds.get()
	return slices.ContainsFunc(s.Turns, func(id int64) bool {
		kind, known := kinds.ByTurn[id]
		return !known || kind.Level <= f.req.EngineLevel && slices.Contains(f.req.Capabilities, kind.Capability)
	})
}

func (f *turnFetch) poll(ctx context.Context) (bool, error) {
	if err := f.c.kinds.refresh(ctx, f.c.db.pool); err != nil {
		return false, err
	}
	f.reset()
	b := f.c.begin(&f.res.Now)
	f.queueClaim(b)
	f.queueDue(b)
	took := func() bool { return len(f.res.Turns) > 0 }
	if err := f.c.run(ctx, f.req.Owner, f.req.Lease, b, took); err != nil {
		f.reset()
		return false, err
	}
	f.cacheRows()
	return took(), nil
}

// queueAttached claims in the transaction of a group. It may claim what that group makes ready.
func (f *turnFetch) queueAttached(b *pgx.Batch) {
	f.reset()
	f.queueClaim(b)
}

// settleAttached reports whether the claim got something.
func (f *turnFetch) settleAttached(committed bool) bool {
	if !committed {
		f.reset()
	}
	f.cacheRows()
	f.piggybacked = len(f.res.Turns) > 0
	return f.piggybacked
}

// queueClaim queues the claim with the histories and messages of the instances: one round trip and one transaction.
func (f *turnFetch) queueClaim(b *pgx.Batch) {
	b.Queue(f.c.db.names.sql(sqlClaimTurns), f.kinds(), f.req.Max, f.req.Owner, uuid(f.req.Token), f.req.Lease.Microseconds(),
		f.req.Ahead.Microseconds()).Query(f.readTurns)
	b.Queue(f.c.db.names.sql(sqlTurnMessages), uuid(f.req.Token), f.req.MaxMessages+1, f.req.MaxBytes, f.req.Ahead.Microseconds()).
		Query(f.readMessages)
	b.Queue(f.c.db.names.sql(sqlTurnAttributes), uuid(f.req.Token)).Query(func(rows pgx.Rows) error {
		return eachAttribute(rows, func(key provider.UUID, a provider.Attribute) {
			if turn := f.turnOf(key); turn != nil {
				turn.Instance.Attributes = append(turn.Instance.Attributes, a)
			}
		})
	})
}

func (f *turnFetch) readTurns(rows pgx.Rows) error {
	for rows.Next() {
		m := &cachedRow{at: time.Now(), row: &provider.Instance{}}
		err := scanInstance(rows, m.row, &f.res.Now, &m.Kind, &m.InboxBytes, &m.NextMessage, &m.LeaseUntil,
			&m.StickyOwner, &m.StickyUntil, &m.NotBefore, &m.FetchAt, &m.current, &m.Listened, &m.xid)
		if err != nil {
			return err
		}
		m.row.Attributes = nil
		f.got = append(f.got, m)
	}
	f.res.Turns = make([]provider.Turn, len(f.got))
	for i, m := range f.got {
		f.res.Turns[i].Instance = *m.row
	}
	return rows.Err()
}

// readMessages adds the messages to the turns. They are ordered by turn.
func (f *turnFetch) readMessages(rows pgx.Rows) error {
	var turn *provider.Turn
	size := 0
	for rows.Next() {
		var key provider.UUID
		var m provider.Message
		if err := rows.Scan(into(&key), &m.ID, &m.Kind, &m.Execution, &m.EventID, &m.Timer, &m.VisibleAt, &m.Payload); err != nil {
			return err
		}
		if turn == nil || turn.Instance.Key != key {
			if turn = f.turnOf(key); turn == nil {
				continue
			}
			size = 0
		}
		size = f.addMessage(turn, m, size)
	}
	return rows.Err()
}

// turnOf returns the turn of an instance. There are few, so it scans.
func (f *turnFetch) turnOf(key provider.UUID) *provider.Turn {
	for i := range f.res.Turns {
		if f.res.Turns[i].Instance.Key == key {
			return &f.res.Turns[i]
		}
	}
	return nil
}

// cacheRows keeps the instances in memory, so that the commits of their turns need not read them.
func (f *turnFetch) cacheRows() {
	for i, m := range f.got {
		turn := &f.res.Turns[i]
		in := &turn.Instance
		if in.Blocked != nil {
			continue
		}
		m.Key, m.ID, m.Status, m.Deleting, m.Execution, m.Version = in.Key, in.ID, in.Status, in.Deleting, in.Execution, in.Version
		m.Length, m.Bytes, m.UpdatedAt, m.ReadyAt = in.HistoryLength, in.HistoryBytes, in.UpdatedAt, in.ReadyAt
		m.Parent = provider.Parent{Key: in.Parent.Key, Execution: in.Parent.Execution, EventID: in.Parent.EventID}
		m.Inbox, m.Deliveries, m.request = in.InboxMessages, in.Deliveries, in.RequestID
		m.LeaseToken, m.LeaseOwner = f.req.Token, f.req.Owner
		m.inbox = inboxOf(turn.Messages).remaining(&m.Head)
		// The caller owns the turn and may change its slices.
		m.row.Attributes, m.row.CustomStatus, m.row.Result = slices.Clone(in.Attributes), slices.Clone(in.CustomStatus), slices.Clone(in.Result)
		if in.Parent.Key.IsZero() && in.CustomStatus == nil && in.Attributes == nil {
			m.own = &ownRow{created: in.CreatedAt, result: slices.Clone(in.Result)}
		}
		f.c.cache.add(m)
	}
}

// addMessage adds a message unless the turn, which has size bytes, is full. It returns the new size.
func (f *turnFetch) addMessage(turn *provider.Turn, m provider.Message, size int) int {
	if n := len(turn.Messages); turn.More || n > 0 && (n == f.req.MaxMessages || size+len(m.Payload) > f.req.MaxBytes) {
		turn.More = true
		return size
	}
	turn.Messages = append(turn.Messages, m)
	return size + len(m.Payload)
}

// queueDue asks when there may be work, for a claim that finds nothing.
func (f *turnFetch) queueDue(b *pgx.Batch) {
	b.Queue(f.c.db.names.sql(sqlNextTurn), f.kinds(), f.req.Owner, (f.req.Ahead / 2).Microseconds()).QueryRow(func(r pgx.Row) error {
		var next *provider.Time
		if err := r.Scan(&f.polled, &next); err != nil {
			return err
		}
		if f.next = relational.Never; next != nil {
			f.next = *next
		}
		return nil
	})
}

// due returns the answer to queueDue.
func (f *turnFetch) due(context.Context) (now, next provider.Time, err error) {
	f.res.Now = f.polled
	return f.polled, f.next, nil
}

// undo gives the instances back, each with its delivery.
func (f *turnFetch) undo() {
	req := provider.ReleaseTurnsRequest{}
	for i := range f.res.Turns {
		req.Items = append(req.Items, provider.TurnRelease{Key: f.res.Turns[i].Instance.Key, Token: f.req.Token})
	}
	f.res = provider.FetchTurnsResult{}
	f.c.group.later("fetch turns", relational.ReleaseNeeds(&req), func(t *relational.Tx) error {
		var res provider.ReleaseTurnsResult
		return t.ReleaseTurns(&req, &res)
	})
}
