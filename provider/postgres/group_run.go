package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// verdict is the result of judging the members of a group in memory.
type verdict struct {
	done    []*relational.Member // to be written
	refused []*relational.Member // each with its error
	ownTx   []*relational.Member // each needs a transaction of its own
	missing *needError           // one of the kinds that they need
}

// runGroup runs a group in one transaction. It returns the members that need transactions of their own. All others are done.
func (g *group) runGroup(pool *pgxpool.Pool, members []*relational.Member) (ownTx []*relational.Member) {
	ctx := g.db.calling.Context()
	var needs relational.Needs
	for _, m := range members {
		needs.Add(&m.Needs)
	}
	conn, err := g.kinds.acquire(ctx, pool)
	if err != nil {
		finish(members, err, provider.OutcomeNothing)
		return nil
	}
	defer conn.Release()
	for range maxTries {
		done, missing := g.tryCached(ctx, conn, members, &needs)
		if done {
			return nil
		}
		if missing == nil || g.kinds.loadOn(ctx, conn, missing) != nil {
			break
		}
	}
	u := g.units.on(ctx, conn.Conn())
	u.ownTx = len(members) == 1
	if err := u.begin(needs); err != nil {
		u.rollback()
		if len(members) > 1 && !lost(err) { // one of them is at fault, which shows when each has its own transaction
			return members
		}
		finish(members, err, provider.OutcomeNothing)
		return nil
	}
	t := u.tx()
	v, err := judge(u, t, members)
	if err != nil {
		u.rollback()
		return members
	}
	return g.commitAndAnswer(u, t, v)
}

// commitAndAnswer ends the transaction and its members. A refusal may be based on changes of other members. It counts only if
// those are stored; otherwise the call is judged again.
func (g *group) commitAndAnswer(u *unit, t *relational.Tx, v verdict) (ownTx []*relational.Member) {
	if len(v.done) == 0 { // a call in its own transaction may have sent some of what it rolls back
		u.rollback()
		finishRefused(v.refused)
		return v.ownTx
	}
	err := g.commits.end(u, t)
	outcome := outcomeOf(err)
	switch {
	case err == nil:
		finishRefused(v.refused)
	case outcome == provider.OutcomeNothing && !lost(err) && (len(v.done) > 1 || isUnique(err, "") || sqlState(err) == stateLockTimeout):
		return append(append(v.ownTx, v.refused...), v.done...)
	default:
		v.ownTx = append(v.ownTx, v.refused...)
	}
	finish(v.done, err, outcome)
	return v.ownTx
}

// finishRefused ends members with their errors.
func finishRefused(refused []*relational.Member) {
	for _, m := range refused {
		close(m.Done)
	}
}

// finish ends members with their results.
func finish(members []*relational.Member, err error, outcome provider.Outcome) {
	for _, m := range members {
		m.Err = failed(m.Op, err, outcome)
		close(m.Done)
	}
}

// judge runs each call in memory. A refused call is rolled back without a trace. An error that judge returns ends the
// transaction.
func judge(u *unit, t *relational.Tx, members []*relational.Member) (v verdict, err error) {
	for _, m := range members {
		err := runMember(u, t, m)
		switch {
		case err == nil:
			v.done = append(v.done, m)
		case needsMore(err):
			switch {
			case errors.Is(err, errHeld):
				m.Conflicts++
			case u.missing == nil: // on cached rows no call finds out that its instance is held
				m.Conflicts = 0
			}
			if need, ok := errors.AsType[*needError](err); ok && need.kind() {
				v.missing = need
			}
			v.ownTx = append(v.ownTx, m)
		case isAnswer(err) || errors.Is(err, errRow):
			m.Err = failed(m.Op, err, provider.OutcomeNothing)
			v.refused = append(v.refused, m)
		default:
			return v, err
		}
	}
	return v, nil
}

// runMember runs one call, and rolls it back if it fails.
func runMember(u *unit, t *relational.Tx, m *relational.Member) error {
	outer := t.Effects
	u.effects.Reset()
	t.Effects = u.effects
	t.Begin()
	before := u.ops.begin()
	err := m.Run(t)
	if u.missing != nil && u.missing.kind() { // an error may come from their lack
		err = u.missing
	}
	mine := t.Effects
	t.Effects = outer
	if err == nil {
		t.Effects.Merge(&mine)
		return nil
	}
	t.Undo()
	u.ops.rollback(&before)
	return err
}

// tryCached runs a group on cached rows, in one round trip that is a transaction of its own. It returns
// false if it cannot, or if the storage found that something had changed. Then nothing happened. If it also returns
// kinds, it may be called again once they are stored.
func (g *group) tryCached(
	ctx context.Context, conn *pgxpool.Conn, members []*relational.Member, needs *relational.Needs,
) (done bool, missing *needError) {
	u := g.units.on(ctx, conn.Conn())
	t, missing := g.judgeCached(u, members)
	if t == nil {
		return false, missing
	}
	attached := g.commits.attachCached(u, t)
	c := g.commits.writeCached(u, &t.Effects)
	if attached != nil { // nothing was left for another claim
		c.attached = attached
	}
	return g.finishCached(u, t, members, needs, c), nil
}

// judgeCached runs the calls of a group on cached rows. It returns nil if it cannot.
func (g *group) judgeCached(u *unit, members []*relational.Member) (*relational.Tx, *needError) {
	cache := g.cache
	if u.now = cache.clock.now(); u.now == 0 || !cache.fill(u, members) {
		return nil, nil
	}
	t := u.tx()
	u.missing = &needError{}
	v, err := judge(u, t, members)
	if err != nil || len(v.refused)+len(v.ownTx) > 0 || t.Changes == 0 || t.Flush() != nil || !u.fenced() {
		return nil, v.missing
	}
	u.sent = u.ops.messages
	return t, nil
}

// finishCached ends a group by the result from the storage. It returns false if nothing happened.
func (g *group) finishCached(u *unit, t *relational.Tx, members []*relational.Member, needs *relational.Needs, c cachedCommit) (done bool) {
	err, attached := c.err, c.attached
	if err == nil {
		g.cache.update(u, t, c.xid, c.claimed)
		g.commits.done(u, t, attached)
		attached.finish(true)
		finish(members, nil, provider.OutcomeHappened)
		return true
	}
	if outcome := outcomeOf(err); sqlState(err) != stateCancelled && (outcome != provider.OutcomeNothing || lost(err)) {
		g.commits.fails(t, attached, err, outcome)
		finish(members, err, outcome)
		return true
	}
	attached.finish(false)
	if sqlState(err) == stateDivision {
		g.cache.clock.reset()
	}
	g.cache.invalidate(needs, isUnique(err, ""))
	return false
}

// cachedCommit is the result of a transaction on cached rows.
type cachedCommit struct {
	xid      uint32
	attached *waitingFetch   // whose claim is piggybacked
	claimed  []provider.Turn // by a statement of its own
	err      error
}
