package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// A division by zero takes everything back: the clock was set, or what the calls rest on was changed. A fetch
	// that takes an instance is soon over; longer than that nobody's locks are waited for.
	sqlWarmBegin = sqlByIndex + `, set_config('lock_timeout', '10ms', true), ` + sqlNow + `,
	1 / (CASE WHEN ` + sqlNow + ` BETWEEN $1 AND $1 + 100000 THEN 1 ELSE 0 END), txid_current() & 4294967295`
	sqlAllOf           = `WITH all_of AS (`
	sqlAll             = ` RETURNING 1) SELECT 1 / (CASE WHEN count(*) = cardinality($1::uuid[]) THEN 1 ELSE 0 END) FROM all_of`
	sqlWarmHeads       = sqlAllOf + sqlHeadsAsTheyWere + sqlAll
	sqlHeadsAsTheyWere = sqlHeadsFrom + `, $25::xid[], $26::uuid[]` + sqlHeadsAs + `, xid, was` + sqlHeadsEnd + sqlAsItWas
	sqlAsItWas         = ` AND i.xmin = w.xid AND i.version = w.was`
	// A turn that consumes no message changes no more than this.
	sqlWarmSteps = sqlAllOf + sqlSteps + sqlAll
	sqlSteps     = `UPDATE perdure.instance i SET version = w.version, history_length = w.length, history_bytes = w.bytes,
	updated_at = w.at, sticky_owner = w.owner, sticky_until = w.until, status = w.status, ended_at = w.ended FROM unnest($1::uuid[], $2::uuid[],
	$3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::smallint[], $9::bigint[], $10::xid[], $11::uuid[])
	w (key, version, length, bytes, at, owner, until, status, ended, xid, was) WHERE i.key = ANY(ARRAY[w.key])` + sqlAsItWas
	sqlWarmTasks       = sqlAllOf + sqlTasksAsTheyWere + sqlAll
	sqlTasksAsTheyWere = `DELETE FROM perdure.task t USING unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::uuid[])
	w (key, execution, event_id, token) WHERE ` + sqlEachTask + ` AND t.token = w.token AND t.state <> 3`
)

// warmly runs a group on what this process knows, in one round trip that is a transaction of its own. It answers false if it cannot, or if
// the storage found that something is not as it was: then nothing has happened. For want of a kind it may be called again once that is stored.
func (w *writer) warmly(
	ctx context.Context, conn *pgxpool.Conn, group []*relational.Member, needs *relational.Needs,
) (done bool, kind *needError) {
	u := w.known(ctx, conn.Conn())
	defer w.reuse(u)
	t, kind := u.recall(group)
	if t == nil {
		return false, kind
	}
	knowing := w.p.signals.boardKnown(u, t)
	c := u.commitWarm(&t.Effects)
	if knowing != nil { // nothing was left for another
		c.rider = knowing
	}
	return w.warmed(u, t, group, needs, c), nil
}

// recall runs the calls of a group on what is known; nil if it cannot.
func (u *unit) recall(group []*relational.Member) (*relational.Tx, *needError) {
	known := u.p.warm
	if u.now = known.clock.now(); u.now == 0 || !known.fill(u, group) {
		return nil, nil
	}
	t := u.tx()
	u.missing = &needError{}
	v, err := judge(u, t, group)
	if err != nil || len(v.refused)+len(v.alone) > 0 || t.Changes == 0 || t.Flush() != nil || !u.fenced() {
		return nil, v.kind
	}
	u.came = u.ops.messages
	return t, nil
}

// warmCommit is what became of a warm transaction.
type warmCommit struct {
	xid     uint32
	rider   *parked         // whose claim rode along
	claimed []provider.Turn // by a statement of its own
	err     error
}

// warmed concludes a group by the answer of the storage. It answers false if nothing has happened.
func (w *writer) warmed(u *unit, t *relational.Tx, group []*relational.Member, needs *relational.Needs, c warmCommit) (done bool) {
	err, rider := c.err, c.rider
	if err == nil {
		w.p.warm.remember(u, t, c.xid, c.claimed)
		w.done(u, t, rider)
		rider.alight(true)
		finish(group, nil, provider.OutcomeHappened)
		return true
	}
	if outcome := outcomeOf(err); sqlState(err) != stateCancelled && (outcome != provider.OutcomeNothing || lost(err)) {
		w.fails(t, rider, err, outcome)
		finish(group, err, outcome)
		return true
	}
	rider.alight(false)
	if sqlState(err) == stateDivision {
		w.p.warm.clock.forget()
	}
	w.p.warm.missed(needs, isUnique(err, ""))
	return false
}

// fenced tells whether all that was looked at is written, too, so that the storage will notice if it was changed.
func (u *unit) fenced() bool {
	for key := range u.rows {
		if _, ok := u.wrote[key]; !ok {
			return false
		}
	}
	for _, key := range u.ids {
		if key.IsZero() {
			return false
		}
	}
	return len(u.ops.retired)+len(u.ops.used) == 0
}

// commitWarm sends everything in one round trip. Instances come first, as in all transactions that lock them.
func (u *unit) commitWarm(fx *relational.Effects) (c warmCommit) {
	made := u.made()
	u.p.hub.Made(made) // before others can end them
	if step, ok := u.fuse(fx); ok {
		c.xid, c.err = u.commitFused(step)
	} else {
		c.xid, c.rider, c.err = u.commitApart(fx)
		c.claimed = c.rider.claimed()
	}
	if c.err != nil {
		u.unmade(made)
	}
	return c
}

// unmade has those who wait for instances look, as nobody knows what became of them.
func (u *unit) unmade(keys []provider.UUID) {
	for _, key := range keys {
		u.p.hub.Tell(key, nil)
	}
}

// commitApart sends a statement for each kind of write.
func (u *unit) commitApart(fx *relational.Effects) (xid uint32, rider *parked, err error) {
	b := &pgx.Batch{}
	var now provider.Time
	b.Queue(sqlWarmBegin, int64(u.now)).QueryRow(func(r pgx.Row) error {
		err := r.Scan(nil, nil, nil, nil, &now, nil, &xid)
		u.p.warm.clock.heard(now)
		return err
	})
	s := sender{u.p.names, b}
	heads := u.ops.heads
	u.ops.heads = s.warmHeads(lastOf(heads, func(h *relational.Head) provider.UUID { return h.Key }), u.recalled)
	put(s, sqlWarmTasks, u.ops.ended, fillHeld)
	u.ops.ended = nil
	u.queueOps(b)
	u.queueNews(b, fx.Changed)
	rider = u.p.signals.board(fx, b)
	return xid, rider, u.exchange(b)
}

// made lists the instances that a group makes, if the end of each will be heard wherever it comes about: then whoever
// waits for it has nothing to read before.
func (u *unit) made() (keys []provider.UUID) {
	if !u.p.signals.hears.Load() {
		return nil
	}
	for i := range u.ops.instances {
		keys = append(keys, u.ops.instances[i].head.Key)
	}
	return keys
}

// warmHeads writes the heads that were there before, and answers those of new instances.
func (s sender) warmHeads(all []relational.Head, known map[provider.UUID]*memory) (fresh []relational.Head) {
	rows, fresh := split(all, func(h *relational.Head) bool { return known[h.Key] != nil })
	slices.SortFunc(rows, func(a, b relational.Head) int { return slices.Compare(a.Key[:], b.Key[:]) })
	steps := rows
	if slices.ContainsFunc(rows, func(h relational.Head) bool { return !isStep(known[h.Key].Head, h) }) {
		steps = nil // one statement takes all, in the order of their keys
	} else {
		rows = nil
	}
	put(s, sqlWarmSteps, steps, func(c *columns, rows []relational.Head) {
		fillSteps(c, rows)
		fillAsTheyWere(c, rows, known)
	})
	put(s, sqlWarmHeads, rows, func(c *columns, rows []relational.Head) {
		fillHeads(c, rows)
		fillAsTheyWere(c, rows, known)
	})
	return fresh
}

func fillAsTheyWere(c *columns, rows []relational.Head, known map[provider.UUID]*memory) {
	column(c, rows, func(h *relational.Head) pgtype.Uint32 { return pgtype.Uint32{Uint32: known[h.Key].xid, Valid: true} })
	// A server that has lost transactions, as one that was replaced by its copy may have, gives their IDs again.
	column(c, rows, func(h *relational.Head) pgtype.UUID { return uuid(known[h.Key].Version) })
}

func fillSteps(c *columns, rows []relational.Head) {
	column(c, rows, func(h *relational.Head) pgtype.UUID { return uuid(h.Key) })
	column(c, rows, func(h *relational.Head) pgtype.UUID { return uuid(h.Version) })
	column(c, rows, func(h *relational.Head) int64 { return h.Length })
	column(c, rows, func(h *relational.Head) int64 { return h.Bytes })
	column(c, rows, func(h *relational.Head) int64 { return int64(h.UpdatedAt) })
	column(c, rows, func(h *relational.Head) string { return h.StickyOwner })
	column(c, rows, func(h *relational.Head) int64 { return h.StickyUntil })
	column(c, rows, func(h *relational.Head) int16 { return int16(h.Status) })
	column(c, rows, func(h *relational.Head) int64 { return int64(h.EndedAt) })
}

// isStep tells whether no more of a head has changed than sqlWarmSteps writes.
func isStep(was, is relational.Head) bool {
	was.Version, was.Length, was.Bytes, was.UpdatedAt = is.Version, is.Length, is.Bytes, is.UpdatedAt
	was.StickyOwner, was.StickyUntil, was.Status, was.EndedAt = is.StickyOwner, is.StickyUntil, is.Status, is.EndedAt
	was.Wide, was.Kept = is.Wide, is.Kept
	return was == is
}
