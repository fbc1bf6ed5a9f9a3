package sqlite

import (
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A gatedFetch is a fetch of tasks that respects limits of queues or claims sessions.
type gatedFetch struct {
	*taskFetch

	call *waitingFetch
}

// wants reports whether there are new tasks, or a lease or session that the fetch may wait for has ended.
func (f *gatedFetch) wants(t *tx) bool {
	if f.taskFetch.wants(t) {
		return true
	}
	for id := range t.Effects.Freed {
		if relational.WaitsFor(&f.req, t.kinds.ByTask[id]) {
			return true
		}
	}
	return false
}

// extends reports whether the fetch, as a call of its owner, must extend the owner's sessions. It does so once.
func (f *gatedFetch) extends() bool { return f.call.fresh && f.req.Sessions.Max > 0 }

func (f *gatedFetch) find(t *tx) (bool, error) {
	if !relational.GatedNow(&f.req, t.kinds) {
		return f.taskFetch.find(t)
	}
	g, err := t.newGate(&f.req)
	if err != nil {
		return false, err
	}
	f.res.Sessions = g.held
	if f.extends() && g.held > 0 {
		return true, nil
	}
	list, err := g.choose(1)
	return len(list) > 0, err
}

func (f *gatedFetch) take(t *tx) (bool, error) {
	if !relational.GatedNow(&f.req, t.kinds) {
		return f.taskFetch.take(t)
	}
	f.res = provider.FetchTasksResult{Now: t.Now}
	if f.extends() {
		if _, err := t.ExtendSessions(f.req.Owner, f.req.Sessions.Lease); err != nil {
			return false, err
		}
	}
	g, err := t.newGate(&f.req)
	if err != nil {
		return false, err
	}
	list, err := g.choose(f.req.Max)
	f.res.Sessions = g.held
	if err != nil || len(list) == 0 {
		f.res.Now = 0
		return false, err
	}
	if err := t.enroll(f.req.Owner); err != nil {
		return false, err
	}
	until := t.Elapsed + micros(f.req.Lease)
	for i := range list {
		if err := f.join(t, g, list[i].session, list[i].Key); err != nil {
			return false, err
		}
		task, err := f.lease(t, list[i].taskPlace, until)
		if err != nil {
			return false, damageTo(list[i].TaskRef, err)
		}
		task.LeaseUntil = t.Wall(until)
		f.res.Tasks = append(f.res.Tasks, task)
	}
	t.WakeElapsed(until)
	return true, nil
}

// join claims the session of a task, or uses it if the owner holds it.
func (f *gatedFetch) join(t *tx, g *gate, session string, maker provider.UUID) error {
	switch {
	case session == "":
		return nil
	case g.claimed[session]:
		delete(g.claimed, session) // its other tasks find it held
		return t.claimSession(session, maker, &f.req)
	default:
		return t.do(sqlUseOwnSession, t.Elapsed, session, f.req.Owner, maker)
	}
}
