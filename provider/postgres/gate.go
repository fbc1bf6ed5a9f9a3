package postgres

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A gate chooses the tasks of a fetch one after the other, in order, where limits of queues and sessions decide which of them it may have.
type gate struct {
	req     *provider.FetchTasksRequest
	kinds   *relational.Kinds
	room    map[string]int // how many tasks of a queue may be leased yet, where there is a limit
	held    int            // sessions of the owner, with those that it is to have
	page    int            // how many tasks of a kind were read at most
	list    []candidate    // in order
	mine    map[string]bool
	claimed []string // sessions that the owner is to have
	used    []string // sessions of chosen tasks that somebody holds
}

// candidate is a task that can be fetched if the gate lets it through.
type candidate struct {
	provider.TaskRef

	late    bool
	at      int64 // its rank
	kind    int64
	plain   int64 // the kind that it has once it is leased
	session string
	owner   string // of the session
	held    bool   // by that owner
}

func newGate(req *provider.FetchTasksRequest, kinds *relational.Kinds) *gate {
	return &gate{req: req, kinds: kinds, room: relational.Limits(req), mine: make(map[string]bool)}
}

func (g *gate) read(rows pgx.Rows) error {
	for rows.Next() {
		var c candidate
		err := rows.Scan(into(&c.Key), &c.Execution, &c.EventID, &c.late, &c.at, &c.kind, &c.plain, &c.session, &c.owner, &c.held)
		if err != nil {
			return err
		}
		if n := len(g.list); n == 0 || g.list[n-1].TaskRef != c.TaskRef { // a queue may be named twice
			g.list = append(g.list, c)
		}
	}
	return rows.Err()
}

// choose answers the tasks to take. It stops where a kind may have more tasks than were read: they would come next.
func (g *gate) choose(limit int) (list []candidate) {
	read := make(map[int64]int)
	for i := range g.list {
		c := &g.list[i]
		if len(list) == limit {
			break
		}
		if g.admits(c) {
			list = append(list, *c)
		}
		if read[c.kind]++; !c.late && read[c.kind] == g.page {
			break
		}
	}
	return list
}

// admits tells whether the fetch may have the task, which then it has.
func (g *gate) admits(c *candidate) bool {
	queue := g.kinds.ByTask[c.kind].Queue
	room, limited := g.room[queue]
	if !c.late && (limited && room <= 0 || !g.claims(c)) {
		return false
	}
	if limited {
		g.room[queue]--
	}
	if c.held {
		g.used = append(g.used, c.session)
	}
	return true
}

// claims tells whether the owner holds the session of a task, or will.
func (g *gate) claims(c *candidate) bool {
	switch {
	case c.session == "" || g.mine[c.session]:
		return true
	case g.req.Sessions.Max == 0:
		return false
	case c.held:
		return c.owner == g.req.Owner
	case g.held >= g.req.Sessions.Max:
		return false
	}
	g.held++
	g.mine[c.session] = true
	g.claimed = append(g.claimed, c.session)
	return true
}

// takeArgs are the parameters of sqlTakeChosen.
func takeArgs(req *provider.FetchTasksRequest, chosen []candidate) []any {
	c := &columns{}
	column(c, chosen, func(t *candidate) pgtype.UUID { return uuid(t.Key) })
	column(c, chosen, func(t *candidate) int64 { return t.Execution })
	column(c, chosen, func(t *candidate) int64 { return t.EventID })
	c.args = append(c.args, uuid(req.Token), req.Owner)
	column(c, chosen, func(t *candidate) bool { return t.late })
	c.args = append(c.args, req.Lease.Microseconds())
	column(c, chosen, func(t *candidate) int64 { return t.at })
	column(c, chosen, func(t *candidate) int64 { return t.plain })
	return c.args
}
