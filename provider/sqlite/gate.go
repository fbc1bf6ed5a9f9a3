package sqlite

import (
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// The next tasks of a kind after one of them, without those of sessions that others hold or that would be one too many.
	sqlGated = `SELECT t.key, t.execution, t.event_id, t.fetch_at, t.scheduled_at, t.session, (t.fetch_at <= ?2 OR t.fetch_at IS t.rank_at) AND
		(t.expire_at IS NULL OR t.expire_at > ?2) FROM perdure_task t INDEXED BY perdure_task_fetch
		LEFT JOIN perdure_session s ON s.id = t.session
		WHERE t.kind = ?1 AND t.fetch_at <= ?3 AND (t.fetch_at, t.scheduled_at, t.event_id, t.key, t.execution) > (?4, ?5, ?6, ?7, ?8)
		AND (t.session IS NULL OR s.owner = ?9 OR ?10 AND (s.id IS NULL OR min(s.lease_until, s.idle_until) <= ?11))
		ORDER BY t.fetch_at, t.scheduled_at, t.event_id, t.key, t.execution LIMIT ?12`
	// These read the index alone, and the row alone, for a search that must get past damaged rows.
	sqlGatedKeys = `SELECT key, execution, event_id, fetch_at, scheduled_at FROM perdure_task INDEXED BY perdure_task_fetch
		WHERE kind = ? AND fetch_at <= ? AND (fetch_at, scheduled_at, event_id, key, execution) > (?, ?, ?, ?, ?)
		ORDER BY fetch_at, scheduled_at, event_id, key, execution LIMIT ?`
	sqlGatedRow = `SELECT session, (fetch_at <= ?1 OR fetch_at IS rank_at) AND (expire_at IS NULL OR expire_at > ?1)
		FROM perdure_task WHERE key = ?2 AND execution = ?3 AND event_id = ?4`
	sqlGatedLate = `SELECT key, execution, event_id, expire_at, scheduled_at, kind, session FROM perdure_task WHERE expire_at <= ?
		ORDER BY expire_at, key, execution, event_id LIMIT ?`
	sqlLeasedKinds = `SELECT kind FROM perdure_task INDEXED BY perdure_task_lease WHERE lease_until > 0 AND lease_until > ?`
)

// gatePage is how many tasks a gate reads at once.
const gatePage = 64

// A gate chooses the tasks of a fetch one by one, in order, where limits of queues and sessions decide which of them it may
// have. Fetches without either do not use one.
type gate struct {
	t       *tx
	req     *provider.FetchTasksRequest
	room    map[string]int  // how many tasks of a queue may be leased yet, where there is a limit
	holds   map[string]bool // whether the fetch may have the tasks of a session, for those that were looked up
	held    int             // sessions that the owner holds, and those that it will claim
	claimed map[string]bool // sessions that it will claim
}

// candidate is a task that can be fetched if the gate lets it through.
type candidate struct {
	taskPlace

	fetchAt provider.Time
	of      int64 // its kind
	session string
}

// newGate reads what is leased and held.
func (t *tx) newGate(req *provider.FetchTasksRequest) (*gate, error) {
	g := &gate{t: t, req: req, room: relational.Limits(req), holds: make(map[string]bool), claimed: make(map[string]bool)}
	if len(g.room) > 0 {
		err := t.each(sqlLeasedKinds, func(r *row) error {
			g.use(r.int(0))
			return nil
		}, t.Elapsed)
		if err != nil {
			return nil, err
		}
	}
	if req.Sessions.Max > 0 {
		var err error
		if g.held, err = t.sessionsOf(req.Owner); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// use takes a place in the queue of a kind if those are counted.
func (g *gate) use(kind int64) {
	queue := g.t.kinds.ByTask[kind].Queue
	if _, limited := g.room[queue]; limited {
		g.room[queue]--
	}
}

// choose returns the tasks to take, in order. It only reads.
func (g *gate) choose(limit int) (list []candidate, err error) {
	if g.req.Expired {
		if list, err = g.late(limit); err != nil {
			return nil, err
		}
	}
	for _, c := range list {
		g.use(c.of)
	}
	streams, err := g.streams()
	if err != nil {
		return nil, err
	}
	for len(list) < limit && len(streams) > 0 {
		first := slices.MinFunc(streams, func(a, b *stream) int { return inOrder(&a.page[0].taskPlace, &b.page[0].taskPlace) })
		c := first.page[0]
		ok, err := g.admits(&c)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, c)
		}
		more, err := first.next()
		if err != nil {
			return nil, err
		}
		if !more {
			streams = slices.DeleteFunc(streams, func(s *stream) bool { return s == first })
		}
	}
	return list, nil
}

// late finds tasks that are past their time. Limits and sessions do not concern them.
func (g *gate) late(limit int) (list []candidate, err error) {
	err = g.t.each(sqlGatedLate, func(r *row) error {
		c := candidate{taskPlace: readTaskPlace(r, taskPlace{late: true, at: lateRank}), of: r.int(5), session: r.text(6)}
		if !g.t.schedule.skips.has(c.TaskRef) {
			list = append(list, c)
		}
		return nil
	}, g.t.Now, limit)
	return list, err
}

// admits reports whether the fetch may have the task, and counts it as taken if so.
func (g *gate) admits(c *candidate) (bool, error) {
	room, limited := g.room[g.t.kinds.ByTask[c.of].Queue]
	if limited && room <= 0 {
		return false, nil
	}
	if ok, err := g.claims(c.session); err != nil || !ok {
		return false, err
	}
	g.use(c.of)
	return true, nil
}

// claims reports whether the owner holds the session, or will.
func (g *gate) claims(id string) (bool, error) {
	if id == "" {
		return true, nil
	}
	if g.req.Sessions.Max == 0 {
		return false, nil
	}
	if ok, known := g.holds[id]; known {
		return ok, nil
	}
	var owner string
	held := false
	if _, err := g.t.one(sqlSession, func(r *row) { owner, held = r.text(0), r.bool(1) }, g.t.Elapsed, id); err != nil {
		return false, err
	}
	if !held {
		if g.held >= g.req.Sessions.Max { // it may not have this one, nor any other that is free
			return false, nil
		}
		g.held++
		g.claimed[id], owner = true, g.req.Owner
	}
	g.holds[id] = owner == g.req.Owner
	return g.holds[id], nil
}

// A stream reads the tasks of one kind in order, page by page. Its page is never empty while it is in use.
type stream struct {
	g    *gate
	kind int64
	of   relational.TaskKind
	last candidate
	page []candidate
	over bool // nothing comes after the page
}

// streams returns those of all kinds that the fetch names and that have tasks.
func (g *gate) streams() (list []*stream, err error) {
	seen := make(map[int64]bool)
	for _, q := range g.req.Queues {
		if room, limited := g.room[q.Queue]; limited && room <= 0 {
			continue
		}
		for _, name := range q.Names {
			for _, id := range g.t.kinds.ByFilter[relational.TaskFilter{Queue: q.Queue, Name: name}] {
				of := g.t.kinds.ByTask[id]
				if seen[id] || of.Class&relational.InSession != 0 && g.req.Sessions.Max == 0 {
					continue
				}
				seen[id] = true
				g.t.schedule.watched.tasks.watch(id, g.t.Elapsed)
				s := &stream{g: g, kind: id, of: of}
				more, err := s.next()
				if err != nil {
					return nil, err
				}
				if more {
					list = append(list, s)
				}
			}
		}
	}
	return list, nil
}

// next goes on to the next task. It returns false if there is none.
func (s *stream) next() (bool, error) {
	if len(s.page) > 0 {
		s.page = s.page[1:]
	}
	for len(s.page) == 0 && !s.over {
		if err := s.read(); err != nil {
			return false, err
		}
	}
	return len(s.page) > 0, nil
}

// read reads the next page.
func (s *stream) read() error {
	t, until := s.g.t, s.g.t.Now
	if s.of.Class&relational.Ranked != 0 {
		until = never // a task that waits for its first lease has a rank, which delays nothing
	}
	from, more, n := s.last, s.g.held < s.g.req.Sessions.Max, 0
	err := t.each(sqlGated, func(r *row) error {
		n++
		c := s.at(r)
		c.session = r.text(5)
		s.add(&c, r.bool(6))
		return nil
	}, s.kind, t.Now, until, from.fetchAt, from.scheduled, from.EventID, from.Key[:], from.Execution, s.g.req.Owner, more, t.Elapsed, gatePage)
	if damaged(err) {
		s.page, n = nil, 0
		err = t.each(sqlGatedKeys, func(r *row) error {
			n++
			c := s.at(r)
			if t.schedule.skips.has(c.TaskRef) {
				return nil
			}
			fetchable := false
			_, err := t.one(sqlGatedRow, func(r *row) { c.session, fetchable = r.text(0), r.bool(1) }, t.Now, c.Key, c.Execution, c.EventID)
			s.add(&c, fetchable)
			return damageTo(c.TaskRef, err)
		}, s.kind, until, from.fetchAt, from.scheduled, from.EventID, from.Key[:], from.Execution, gatePage)
	}
	s.over = n < gatePage
	return err
}

// at reads a task's place in the order.
func (s *stream) at(r *row) candidate {
	place := taskPlace{at: -s.of.Bonus()}
	if s.of.Class&relational.Ranked != 0 {
		place.ranked, place.kind = true, s.g.t.kinds.Unranked(s.kind)
	}
	s.last = candidate{taskPlace: readTaskPlace(r, place), fetchAt: r.time(3), of: s.kind}
	return s.last
}

// add adds a task to the page if it may be fetched.
func (s *stream) add(c *candidate, fetchable bool) {
	if fetchable && !s.g.t.schedule.skips.has(c.TaskRef) {
		s.page = append(s.page, *c)
	}
}
