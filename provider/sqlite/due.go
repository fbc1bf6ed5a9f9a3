package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// dues are the next moments at which something becomes ready by time alone: never later
// than the truth, so that no timer is late; a look that finds nothing sets them right.
type dues struct {
	wall    provider.Time
	elapsed int64
	stale   bool          // unknown: ask the file
	lead    time.Duration // how long before they are due turns are looked for, too
}

func (d *dues) passed(t *tx) bool { return d.stale || t.Now >= d.wall || t.Elapsed >= d.elapsed }

// ahead is when to look for a turn that is due at the given moment.
func (d *dues) ahead(due provider.Time) provider.Time {
	if due == never {
		return never
	}
	return due.Add(-d.lead)
}

// tried is which parked fetches the last round has tried, and for which instant: what
// became due or was seen after it is for the next round.
type tried struct {
	served  bool
	all     bool
	now     provider.Time
	elapsed int64
}

// pressing tells whether the writer has something to do though nobody called.
func (w *writer) pressing() bool {
	w.watch()
	w.attend()
	w.tell()
	if w.foreign.changed {
		return true
	}
	if !w.anyParked() {
		return false
	}
	c := w.store.clock
	return w.due.stale || c.wall() >= w.due.wall || c.elapsed() >= w.due.elapsed
}

func (w *writer) anyParked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.parked) > 0
}

// awaited tells whether a call of this process waits for what others may write.
func (w *writer) awaited() bool { return w.anyParked() || w.store.hub.Waiting() > 0 }

// patience is how long the writer may sleep when nothing is queued.
func (w *writer) patience() time.Duration {
	sleep := w.interval() - time.Since(w.foreign.looked)
	if w.anyParked() {
		c := w.store.clock
		if w.due.wall != never {
			sleep = min(sleep, w.due.wall.Sub(c.wall()))
		}
		if w.due.elapsed != never {
			sleep = min(sleep, time.Duration(w.due.elapsed-c.elapsed())*time.Microsecond)
		}
	}
	if w.holding.owed {
		sleep = min(sleep, time.Until(w.holding.again))
	}
	if w.backlog.long() {
		sleep = min(sleep, w.backlog.pause()-time.Since(w.backlog.last))
	}
	return max(sleep, 0)
}

const (
	sqlNextTurn      = `SELECT fetch_at FROM perdure_instance WHERE kind = ? AND fetch_at > ? ORDER BY fetch_at LIMIT 1`
	sqlNextTask      = `SELECT fetch_at FROM perdure_task WHERE kind = ? AND fetch_at > ? ORDER BY fetch_at LIMIT 1`
	sqlNextExpiry    = `SELECT expire_at FROM perdure_task WHERE expire_at > ? ORDER BY expire_at LIMIT 1`
	sqlNextTurnLease = `SELECT lease_until FROM perdure_instance WHERE lease_until > 0 ORDER BY lease_until LIMIT 1`
	sqlNextTaskLease = `SELECT lease_until FROM perdure_task WHERE lease_until > 0 ORDER BY lease_until LIMIT 1`
	sqlNextAsk       = `SELECT min(taken_until) FROM perdure_ask WHERE answered = 0 AND taken_until > ?`
)

// settle acts on foreign commits and sets the dues right after they have passed, once all
// that is parked was tried for them.
func (w *writer) settle() {
	t := w.tx
	if !w.tried.all {
		return
	}
	if w.foreign.changed {
		w.foreign.changed, w.foreign.owed = false, true
	}
	w.tell()
	if !w.due.passed(t) || !w.anyParked() {
		return
	}
	d, err := w.measure()
	if err != nil {
		w.complain("due times cannot be read", err)
		d = dues{wall: t.Now + 100_000, elapsed: t.Elapsed + 100_000, lead: d.lead} // look again soon
	}
	d.elapsed = w.mindful(d.elapsed)
	d.elapsed = min(d.elapsed, t.Effects.ElapsedDue) // the ends of the stickiness that the tries met
	w.due = d
}

// measure reads the next due moments after the last try from the file. The last try asked for each kind that a parked
// call names, so a kind that nobody waits for costs nothing.
func (w *writer) measure() (dues, error) {
	t, at, a := w.tx, w.tried, &w.asked
	if _, err := t.Kinds(); err != nil {
		return dues{lead: w.due.lead}, err
	}
	a.turns.forgetBefore(at.elapsed - keepAsked)
	a.tasks.forgetBefore(at.elapsed - keepAsked)
	a.turns.fresh, a.tasks.fresh = a.turns.fresh[:0], a.tasks.fresh[:0]
	m := &measuring{w: w, dues: dues{wall: never, elapsed: never, lead: w.due.lead}}
	for kind := range a.turns.known {
		m.turns(kind)
	}
	for kind := range a.tasks.known {
		m.tasks(kind)
	}
	d := &m.dues
	d.wall = min(d.wall, provider.Time(m.next(sqlNextExpiry, at.now)))
	d.elapsed = min(d.elapsed, m.next(sqlNextTurnLease), m.next(sqlNextTaskLease), m.next(sqlNextAsk, at.elapsed))
	if t.kinds.Sessions() {
		d.elapsed = min(d.elapsed, m.next(sqlNextSession, at.elapsed))
	}
	return m.dues, m.err
}

// measureFresh lowers the due time by the kinds that it does not cover yet, unless all are about to be measured. After an
// error the next round measures everything.
func (w *writer) measureFresh() {
	a := &w.asked
	if len(a.turns.fresh)+len(a.tasks.fresh) == 0 || !w.tried.served || w.tried.all && w.due.passed(w.tx) {
		return
	}
	m := &measuring{w: w, dues: w.due}
	for _, kind := range a.turns.fresh {
		m.turns(kind)
	}
	for _, kind := range a.tasks.fresh {
		m.tasks(kind)
	}
	a.turns.fresh, a.tasks.fresh = a.turns.fresh[:0], a.tasks.fresh[:0]
	w.due = m.dues
	w.due.stale = w.due.stale || m.err != nil
}

// A measuring reads due times that come after the last try, and keeps an error.
type measuring struct {
	w    *writer
	dues dues
	err  error
}

func (m *measuring) next(sql string, args ...any) int64 {
	n, err := m.w.tx.integer(sql, args...)
	if err != nil {
		m.err = err
	}
	if n == 0 {
		return never
	}
	return n
}

func (m *measuring) turns(kind int64) {
	d, after := &m.dues, m.w.tried.now
	d.wall = min(d.wall, provider.Time(m.next(sqlNextTurn, kind, after)))
	if d.lead > 0 {
		d.wall = min(d.wall, d.ahead(provider.Time(m.next(sqlNextTurn, kind, after.Add(d.lead)))))
	}
	m.w.asked.turns.cover(kind)
}

func (m *measuring) tasks(kind int64) {
	m.dues.wall = min(m.dues.wall, provider.Time(m.next(sqlNextTask, kind, m.w.tried.now)))
	m.w.asked.tasks.cover(kind)
}
