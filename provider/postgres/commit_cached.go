package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// A division by zero rolls everything back: the clock was set, or something that the calls rely on was changed. A
	// fetch that takes an instance ends soon. The lock timeout bounds all other waits.
	sqlCachedBegin = sqlByIndex + `, set_config('lock_timeout', '10ms', true), ` + sqlNow + `,
	1 / (CASE WHEN ` + sqlNow + ` BETWEEN $1 AND $1 + 100000 THEN 1 ELSE 0 END), txid_current() & 4294967295`
	sqlAllOf       = `WITH all_of AS (`
	sqlAll         = ` RETURNING 1) SELECT 1 / (CASE WHEN count(*) = cardinality($1::uuid[]) THEN 1 ELSE 0 END) FROM all_of`
	sqlCachedHeads = sqlAllOf + sqlHeadsAsTheyWere + sqlAll
	sqlAsItWas     = ` AND i.xmin = w.xid AND i.version = w.was`
	// A turn that consumes no message changes no more than this.
	sqlCachedPlainTurns = sqlAllOf + sqlPlainTurnsAsTheyWere + sqlAll
	sqlCachedTasks      = sqlAllOf + sqlTasksAsTheyWere + sqlAll
	sqlTasksAsTheyWere  = `DELETE FROM perdure.task t USING unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::uuid[])
	w (key, execution, event_id, token) WHERE ` + sqlEachTask + ` AND t.token = w.token AND t.state <> 3`
)

// writeCached sends everything in one round trip. Instances come first, as in all transactions that lock them.
func (c *commits) writeCached(u *unit, fx *relational.Effects) (w cachedCommit) {
	created := c.created(u)
	c.hub.MarkAlive(created) // before others can end them
	if step, ok := c.oneStatement(u, fx); ok {
		w.xid, w.err = u.commitStep(step)
	} else {
		w.xid, w.attached, w.err = c.writePerStatement(u, fx)
		w.claimed = w.attached.claimed()
	}
	if w.err != nil {
		c.creationUnknown(created)
	}
	return w
}

// creationUnknown makes the calls that wait for the instances poll, because the outcome is unknown.
func (c *commits) creationUnknown(keys []provider.UUID) {
	for _, key := range keys {
		c.hub.Wake(key, nil)
	}
}

// writePerStatement sends a statement for each kind of write.
func (c *commits) writePerStatement(u *unit, fx *relational.Effects) (xid uint32, attached *waitingFetch, err error) {
	b := &pgx.Batch{}
	var now provider.Time
	b.Queue(sqlCachedBegin, int64(u.now)).QueryRow(func(r pgx.Row) error {
		err := r.Scan(nil, nil, nil, nil, &now, nil, &xid)
		c.cache.clock.observe(now)
		return err
	})
	s := sender{c.db.names, b}
	heads := u.ops.heads
	u.ops.heads = s.cachedHeads(lastOf(heads, func(h *relational.Head) provider.UUID { return h.Key }), u.cached)
	put(s, sqlCachedTasks, u.ops.ended, fillHeld)
	u.ops.ended = nil
	u.queueOps(b)
	c.queueWatched(u, b, fx.Changed)
	attached = c.waiters.attach(fx, b, c.presence)
	return xid, attached, u.exchange(b)
}

// created returns the instances that a group creates, if this process will learn of the end of each. A call that waits for
// one then need not read it first.
func (c *commits) created(u *unit) (keys []provider.UUID) {
	if !c.notifier.listening.Load() {
		return nil
	}
	for i := range u.ops.instances {
		keys = append(keys, u.ops.instances[i].head.Key)
	}
	return keys
}

// cachedHeads writes the heads of existing instances, and returns those of new ones.
func (s sender) cachedHeads(all []relational.Head, known map[provider.UUID]*cachedRow) (fresh []relational.Head) {
	rows, fresh := split(all, func(h *relational.Head) bool { return known[h.Key] != nil })
	slices.SortFunc(rows, func(a, b relational.Head) int { return slices.Compare(a.Key[:], b.Key[:]) })
	steps := rows
	if slices.ContainsFunc(rows, func(h relational.Head) bool { return !isPlainTurn(known[h.Key].Head, h) }) {
		steps = nil // one statement takes all, in the order of their keys
	} else {
		rows = nil
	}
	put(s, sqlCachedPlainTurns, steps, func(c *columns, rows []relational.Head) {
		fillPlainTurns(c, rows)
		fillAsTheyWere(c, rows, known)
	})
	put(s, sqlCachedHeads, rows, func(c *columns, rows []relational.Head) {
		fillHeads(c, rows)
		fillAsTheyWere(c, rows, known)
	})
	return fresh
}
