package memory

import (
	"bytes"
	"maps"
	"time"

	"github.com/perdure/perdure/provider"
)

// A session is held by an owner. Its tasks name it.
type session struct {
	owner      string
	creator    provider.UUID // the instance that it ends with; zero: none
	idle       time.Duration
	leaseUntil provider.Time
	idleUntil  provider.Time
}

// heldUntil is when the owner loses the session, as far as is known now.
func (ts *tasks) heldUntil(id string) provider.Time {
	s := ts.sessions[id]
	if s == nil {
		return 0
	}
	until := min(s.leaseUntil, s.idleUntil)
	for _, t := range ts.byRef {
		if t.session == id && t.state == provider.TaskLeased && t.owner == s.owner {
			until = max(until, t.leaseUntil)
		}
	}
	return until
}

// heldBy counts the sessions of an owner.
func (ts *tasks) heldBy(owner string, now provider.Time) (n int) {
	for id, s := range ts.sessions {
		if s.owner == owner && ts.heldUntil(id) > now {
			n++
		}
	}
	return n
}

// useSession notes the use of a session, before the use changes the task.
func (ts *tasks) useSession(t *task, now provider.Time) {
	ts.forgetEnded(t.session, now)
	if s := ts.sessions[t.session]; s != nil {
		s.idleUntil = now.Add(s.idle)
	}
}

// forgetEnded removes a session that has ended. It is called before a task of the session gets a lease that does not take the session:
// its last owner would hold it again by that lease.
func (ts *tasks) forgetEnded(id string, now provider.Time) {
	if ts.heldUntil(id) <= now {
		delete(ts.sessions, id)
	}
}

// leaveSessions ends the sessions of an instance that is over. One with other tasks passes to their instance.
func (ts *tasks) leaveSessions(creator provider.UUID) {
	for id, s := range ts.sessions {
		if s.creator != creator {
			continue
		}
		s.creator = ts.nextCreator(id)
		if s.creator.IsZero() {
			delete(ts.sessions, id)
		}
		ts.write()
	}
}

// nextCreator returns the instance of the oldest task of a session, zero if there is none.
func (ts *tasks) nextCreator(id string) provider.UUID {
	var oldest *task
	for _, t := range ts.byRef {
		if t.session == id && (oldest == nil || t.scheduled < oldest.scheduled || t.scheduled == oldest.scheduled && bytes.Compare(t.Key[:], oldest.Key[:]) < 0) {
			oldest = t
		}
	}
	if oldest == nil {
		return provider.UUID{}
	}
	return oldest.Key
}

// endSessions lets sessions last only as long as their owner has an unexpired lease of one of their tasks.
func (ts *tasks) endSessions(ids []string) {
	for _, id := range ids {
		if s := ts.sessions[id]; s != nil {
			s.idle, s.idleUntil = 0, 0
			ts.write()
		}
	}
}

// extendSessions extends the leases of all sessions of the owner and returns their number.
func (ts *tasks) extendSessions(owner string, lease time.Duration, now provider.Time) (n int) {
	for id, s := range ts.sessions {
		if s.owner == owner && ts.heldUntil(id) > now {
			s.leaseUntil = now.Add(lease)
			n++
			ts.write()
		}
	}
	return n
}

// fetchLimits admit tasks to a fetch within the limits of queues and sessions.
type fetchLimits struct {
	tasks *tasks
	req   *provider.FetchTasksRequest
	now   provider.Time
	room  map[string]int // number of further leases by queue
	again provider.Time  // when it may admit more without a change of the store
	begun bool
}

// open starts a poll. The first poll counts as a call of the owner.
func (g *fetchLimits) open(now provider.Time) {
	g.now, g.again, g.room = now, 0, map[string]int{}
	if claim := g.req.Sessions; claim.Max > 0 && !g.begun {
		maps.DeleteFunc(g.tasks.sessions, func(id string, _ *session) bool { return g.tasks.heldUntil(id) <= now })
		g.tasks.extendSessions(g.req.Owner, claim.Lease, now)
	}
	g.begun = true
	for _, q := range g.req.Queues {
		room, known := g.room[q.Queue]
		if q.MaxLeased > 0 && (!known || q.MaxLeased < room) {
			g.room[q.Queue] = q.MaxLeased
		}
	}
	for _, t := range g.tasks.byRef {
		if t.state == provider.TaskLeased && t.leaseUntil > now {
			g.use(t.queue)
		}
	}
}

// use counts a lease against the limit of its queue.
func (g *fetchLimits) use(queue string) {
	if _, limited := g.room[queue]; limited {
		g.room[queue]--
	}
}

// admits reports whether the fetch may lease the task. The fetch must then lease it.
func (g *fetchLimits) admits(t *task) bool {
	room, limited := g.room[t.queue]
	late := t.late(g.now)
	if !late && (limited && room <= 0 || !g.claims(t)) {
		g.refuse(t)
		return false
	}
	g.use(t.queue)
	if s := g.tasks.sessions[t.session]; s != nil && s.owner == g.req.Owner {
		if s.creator != t.Key {
			s.creator = provider.UUID{}
		}
		g.tasks.useSession(t, g.now)
	}
	return true
}

// claims reports whether the owner holds the session or takes it now.
func (g *fetchLimits) claims(t *task) bool {
	claim, id := g.req.Sessions, t.session
	switch {
	case id == "":
		return true
	case claim.Max == 0:
		return false
	case g.tasks.heldUntil(id) > g.now:
		return g.tasks.sessions[id].owner == g.req.Owner
	case g.held() >= claim.Max:
		return false
	}
	g.tasks.sessions[id] = &session{
		owner: g.req.Owner, creator: t.Key, idle: claim.Idle, leaseUntil: g.now.Add(claim.Lease), idleUntil: g.now.Add(claim.Idle),
	}
	return true
}

// refuse notes the latest instant at which the limit or session is free, or the task is past its time.
func (g *fetchLimits) refuse(t *task) {
	if g.req.Expired {
		g.again = sooner(g.again, t.deadline)
	}
	for _, t := range g.tasks.byRef {
		if t.leaseUntil > g.now {
			g.again = sooner(g.again, t.leaseUntil)
		}
	}
	for id := range g.tasks.sessions {
		if until := g.tasks.heldUntil(id); until > g.now {
			g.again = sooner(g.again, until)
		}
	}
}

// held returns the number of the owner's sessions if the fetch claims any.
func (g *fetchLimits) held() int {
	if g.req.Sessions.Max == 0 {
		return 0
	}
	return g.tasks.heldBy(g.req.Owner, g.now)
}
