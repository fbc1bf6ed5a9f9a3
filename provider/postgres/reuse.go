package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

func newUnit(ctx context.Context, p *Provider, conn *pgx.Conn) *unit {
	u := &unit{
		p: p, ctx: ctx, conn: conn,
		rows: make(map[provider.UUID]*stored), own: make(map[provider.UUID]*ownRow), ids: make(map[string]provider.UUID),
		held: make(map[provider.UUID]struct{}), heldID: make(map[string]struct{}),
		inbox: make(map[provider.UUID]*inbox), tasks: make(map[provider.TaskRef]*relational.Task),
		heldTasks: make(map[provider.TaskRef]struct{}), turns: make(map[relational.Lane]relational.Turns),
		recalled: make(map[provider.UUID]*memory), wrote: make(map[provider.UUID]struct{}),
		described: make(map[provider.UUID]bool), effects: relational.NewEffects(),
	}
	u.view = relational.Tx{Rows: u, Heads: make(map[provider.UUID]*relational.Head), Effects: relational.NewEffects()}
	return u
}

// known answers a unit for calls that go by what is known. The maps and lists of one are most of what a short step would leave to the garbage
// collector, so they are used again.
func (w *writer) known(ctx context.Context, conn *pgx.Conn) *unit {
	select {
	case u := <-w.over:
		u.ctx, u.conn = ctx, conn
		return u
	default:
		return newUnit(ctx, w.p, conn)
	}
}

// reuse takes back what known answered, when its calls have been answered and nobody holds anything of it.
func (w *writer) reuse(u *unit) {
	u.reset()
	select {
	case w.over <- u:
	default:
	}
}

// reset leaves nothing but empty maps and lists.
func (u *unit) reset() {
	clear(u.rows)
	clear(u.own)
	clear(u.ids)
	clear(u.held)
	clear(u.heldID)
	clear(u.inbox)
	clear(u.tasks)
	clear(u.heldTasks)
	clear(u.turns)
	clear(u.recalled)
	clear(u.wrote)
	clear(u.described)
	u.view.Reset()
	u.effects.Reset()
	*u = unit{
		p: u.p, rows: u.rows, own: u.own, ids: u.ids, held: u.held, heldID: u.heldID, inbox: u.inbox, tasks: u.tasks, heldTasks: u.heldTasks,
		turns: u.turns, recalled: u.recalled, wrote: u.wrote, described: u.described, view: u.view, effects: u.effects,
		ops: u.ops.cleared(), args: cleared(u.args),
	}
}

// cleared keeps the lists that most steps need.
func (o *ops) cleared() ops {
	return ops{
		instances: cleared(o.instances), eaten: cleared(o.eaten), ended: cleared(o.ended), history: cleared(o.history), tasks: cleared(o.tasks),
		messages: cleared(o.messages), noTasks: cleared(o.noTasks), results: cleared(o.results), heads: cleared(o.heads), undo: cleared(o.undo),
	}
}

func cleared[T any](list []T) []T {
	clear(list)
	return list[:0]
}
