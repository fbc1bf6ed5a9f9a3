package postgres

import (
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// commits ends the transactions of units, and notifies everybody whom they concern.
type commits struct {
	db       *database
	kinds    *kinds
	hub      *relational.Hub
	cache    *rowCache
	notifier *notifier
	waiters  *waiters
	presence *presence

	count   atomic.Int64 // transactions that changed something
	turns   atomic.Int64
	dropped atomic.Int64
}

// end writes the heads, commits, and notifies.
func (c *commits) end(u *unit, t *relational.Tx) error {
	if t.Changes == 0 {
		return c.confirm(u)
	}
	if err := t.Flush(); err != nil {
		u.rollback()
		return err
	}
	xid, attached, err := c.write(u, &t.Effects)
	if err != nil {
		c.fails(t, attached, err, outcomeOf(err))
		u.rollback()
		return err
	}
	c.cache.update(u, t, xid, attached.claimed())
	c.done(u, t, attached)
	attached.finish(true)
	return nil
}

// sqlConfirm writes to the log of a server that has synchronous standbys, so that the COMMIT waits for them. One of a
// transaction that has written nothing does not.
const sqlConfirm = `SELECT CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'perdure', ''::text) END`

// confirm ends a transaction that changed nothing, because an earlier one had done so. The server may show what that one
// stored before its synchronous standbys have it: its wait for them is cut off when the connection breaks.
func (c *commits) confirm(u *unit) error {
	b := &pgx.Batch{}
	b.Queue(sqlConfirm)
	b.Queue("COMMIT")
	err := u.exchange(b)
	if err != nil {
		u.rollback()
	}
	return err
}

// done records what a transaction stored, and notifies. The attached fetch needs no notification.
func (c *commits) done(u *unit, t *relational.Tx, attached *waitingFetch) {
	c.count.Add(1)
	c.turns.Add(t.Effects.Commits)
	c.dropped.Add(t.Effects.Dropped)
	for kind := range u.freed {
		t.Free(kind)
	}
	for _, in := range u.watched {
		c.hub.Wake(in.Key, in)
	}
	for _, key := range t.Effects.Changed {
		if u.owns(key) && c.hub.Watched(key) {
			c.hub.Wake(key, u.ownInstance(key))
		}
	}
	c.hub.WakeFollowers(t.Touched, &t.Effects)
	c.notifier.publish(&t.Effects, attached)
}

// fails handles a failed transaction. If it may be stored, everybody is notified to poll. Nobody would otherwise: a
// repeated call finds the change stored and changes nothing.
func (c *commits) fails(t *relational.Tx, attached *waitingFetch, err error, outcome provider.Outcome) {
	if lost(err) {
		c.kinds.stale.Store(true)
	}
	if outcome != provider.OutcomeUnknown {
		attached.finish(false)
		return
	}
	attached.fail(err)
	fx := t.Effects
	fx.Notices = nil // a notice says that something is stored
	c.hub.WakeFollowers(t.Touched, &fx)
	c.notifier.hint(&fx)
}

// write sends the deferred writes and commits, in one round trip.
func (c *commits) write(u *unit, fx *relational.Effects) (xid uint32, attached *waitingFetch, err error) {
	b := &pgx.Batch{}
	u.queueOps(b)
	c.queueWatched(u, b, fx.Changed)
	attached = c.waiters.attach(fx, b, c.presence)
	b.Queue(`SELECT txid_current() & 4294967295`).QueryRow(func(r pgx.Row) error { return r.Scan(&xid) })
	b.Queue("COMMIT")
	return xid, attached, u.exchange(b)
}

const sqlWatched = `SELECT ` + instanceColumns + ` FROM (SELECT key FROM unnest($1::uuid[]) n (key)) w
	CROSS JOIN LATERAL (SELECT * FROM perdure.instance x WHERE x.key = w.key OFFSET 0) i JOIN perdure.kind k ON k.id = i.kind
	LEFT JOIN perdure.outcome o ON o.key = ANY(ARRAY[i.key])`

// queueWatched reads the instances that calls of this process wait for, as the transaction leaves them. Calls read
// instances with attributes themselves.
func (c *commits) queueWatched(u *unit, b *pgx.Batch, changed []provider.UUID) {
	var keys []provider.UUID
	for _, key := range changed {
		if c.watched(u, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	b.Queue(c.db.names.sql(sqlWatched), uuids(keys)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			in := &provider.Instance{}
			if err := scanInstance(rows, in); err != nil {
				return err
			}
			if in.Attributes == nil {
				u.watched = append(u.watched, in)
			}
		}
		return rows.Err()
	})
}

// watched reports whether a call of this process waits for the row of an instance, so that it must be read.
func (c *commits) watched(u *unit, key provider.UUID) bool { return !u.owns(key) && c.hub.Watched(key) }

// anyWatched reports whether calls of this process wait for the row of one of these instances.
func (c *commits) anyWatched(u *unit, keys []provider.UUID) bool {
	for _, key := range keys {
		if c.watched(u, key) {
			return true
		}
	}
	return false
}

// attachCached claims what a group makes ready for a waiting call, if everything is known. See [waiters.attachCached].
func (c *commits) attachCached(u *unit, t *relational.Tx) *waitingFetch {
	return c.waiters.attachCached(u, t, c.presence)
}
