package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// An agenda is when the writer tries parked fetches again, for which kinds, and which items they pass over.
type agenda struct {
	dues

	asked asked
	tried tried
	shuns shuns
}

// dues are the next moments at which something becomes ready by time alone. They are never later than the truth, so that
// no timer is late. A search that finds nothing sets them right.
type dues struct {
	wall    provider.Time
	elapsed int64
	stale   bool          // unknown: ask the file
	lead    time.Duration // how long before they are due turns are looked for, too
}

// passed reports whether something may be due.
func (d *dues) passed(now provider.Time, elapsed int64) bool {
	return d.stale || now >= d.wall || elapsed >= d.elapsed
}

// ahead is when to look for a turn that is due at the given moment.
func (d *dues) ahead(due provider.Time) provider.Time {
	if due == never {
		return never
	}
	return due.Add(-d.lead)
}

// within is how long the writer may sleep, and no longer than the given time.
func (d *dues) within(sleep time.Duration, c *clock) time.Duration {
	if d.wall != never {
		sleep = min(sleep, d.wall.Sub(c.wall()))
	}
	if d.elapsed != never {
		sleep = min(sleep, time.Duration(d.elapsed-c.elapsed())*time.Microsecond)
	}
	return sleep
}

// tried is which parked fetches the last round has tried, and for which instant. Later events are for the next round.
type tried struct {
	served  bool
	all     bool
	now     provider.Time
	elapsed int64
}

const (
	sqlNextTurn      = `SELECT fetch_at FROM perdure_instance WHERE kind = ? AND fetch_at > ? ORDER BY fetch_at LIMIT 1`
	sqlNextTask      = `SELECT fetch_at FROM perdure_task WHERE kind = ? AND fetch_at > ? ORDER BY fetch_at LIMIT 1`
	sqlNextExpiry    = `SELECT expire_at FROM perdure_task WHERE expire_at > ? ORDER BY expire_at LIMIT 1`
	sqlNextTurnLease = `SELECT lease_until FROM perdure_instance WHERE lease_until > 0 ORDER BY lease_until LIMIT 1`
	sqlNextTaskLease = `SELECT lease_until FROM perdure_task WHERE lease_until > 0 ORDER BY lease_until LIMIT 1`
	sqlNextAsk       = `SELECT min(at) FROM (SELECT answered, CASE WHEN as_name IS NULL THEN taken_until ELSE as_taken_until END AS at
		FROM perdure_ask UNION ALL SELECT answered, home_until FROM perdure_ask) WHERE answered = 0 AND at > ?`
)

// foresee lowers the due moments to those that a committed transaction has made.
func (a *agenda) foresee(due provider.Time, elapsed int64) {
	a.wall = min(a.wall, a.ahead(due))
	a.elapsed = min(a.elapsed, elapsed)
}

// settle sets the due moments right after they have passed, once all parked fetches were tried for them.
func (a *agenda) settle(t *tx) error {
	if !a.passed(t.Now, t.Elapsed) {
		return nil
	}
	d, err := a.measure(t)
	if err != nil {
		d = dues{wall: t.Now + 100_000, elapsed: t.Elapsed + 100_000, lead: d.lead} // look again soon
	}
	d.elapsed = a.shuns.within(d.elapsed, t.Elapsed)
	d.elapsed = min(d.elapsed, t.Effects.ElapsedDue) // the ends of the stickiness that the tries met
	a.dues = d
	return err
}

// measure reads the next due moments after the last try from the file. The last try asked for each kind that a parked
// call names, so a kind that no call waits for costs nothing.
func (a *agenda) measure(t *tx) (dues, error) {
	if _, err := t.Kinds(); err != nil {
		return dues{lead: a.lead}, err
	}
	at := a.tried
	a.asked.turns.forgetBefore(at.elapsed - keepAsked)
	a.asked.tasks.forgetBefore(at.elapsed - keepAsked)
	a.asked.turns.fresh, a.asked.tasks.fresh = a.asked.turns.fresh[:0], a.asked.tasks.fresh[:0]
	m := &measuring{tx: t, agenda: a, dues: dues{wall: never, elapsed: never, lead: a.lead}}
	for kind := range a.asked.turns.known {
		m.turns(kind)
	}
	for kind := range a.asked.tasks.known {
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

// measureFresh lowers the due moments by the kinds that they do not cover yet, unless all are about to be measured. After an
// error the next round measures everything.
func (a *agenda) measureFresh(t *tx) {
	turns, tasks := &a.asked.turns, &a.asked.tasks
	if len(turns.fresh)+len(tasks.fresh) == 0 || !a.tried.served || a.tried.all && a.passed(t.Now, t.Elapsed) {
		return
	}
	m := &measuring{tx: t, agenda: a, dues: a.dues}
	for _, kind := range turns.fresh {
		m.turns(kind)
	}
	for _, kind := range tasks.fresh {
		m.tasks(kind)
	}
	turns.fresh, tasks.fresh = turns.fresh[:0], tasks.fresh[:0]
	a.dues = m.dues
	a.stale = a.stale || m.err != nil
}

// A measuring reads due moments after the last try, and keeps an error.
type measuring struct {
	tx     *tx
	agenda *agenda
	dues   dues
	err    error
}

func (m *measuring) next(sql string, args ...any) int64 {
	n, err := m.tx.integer(sql, args...)
	if err != nil {
		m.err = err
	}
	if n == 0 {
		return never
	}
	return n
}

func (m *measuring) turns(kind int64) {
	d, after := &m.dues, m.agenda.tried.now
	d.wall = min(d.wall, provider.Time(m.next(sqlNextTurn, kind, after)))
	if d.lead > 0 {
		d.wall = min(d.wall, d.ahead(provider.Time(m.next(sqlNextTurn, kind, after.Add(d.lead)))))
	}
	m.agenda.asked.turns.cover(kind)
}

func (m *measuring) tasks(kind int64) {
	m.dues.wall = min(m.dues.wall, provider.Time(m.next(sqlNextTask, kind, m.agenda.tried.now)))
	m.agenda.asked.tasks.cover(kind)
}

// pardon lets fetches try an instance and its tasks again, because an operator has mended them.
func (a *agenda) pardon(key provider.UUID) {
	for ref := range a.shuns {
		if ref.Key == key {
			delete(a.shuns, ref)
		}
	}
	a.stale = true
}

// shunFor is how long fetches pass over a damaged item before they try it again.
const shunFor = 10 * time.Second

// shuns are damaged items, and until when fetches pass over them.
type shuns map[provider.TaskRef]time.Time

// has reports whether a fetch passes over an item.
func (s shuns) has(ref provider.TaskRef) bool {
	until, ok := s[ref]
	if ok && time.Now().After(until) {
		delete(s, ref)
		return false
	}
	return ok
}

// within moves a due moment to when an item need not be passed over any longer. The writer pauses for a second at most,
// and does not retry without a pause where a lease cannot be ended.
func (s shuns) within(due, now int64) int64 {
	if len(s) == 0 {
		return due
	}
	next := shunFor
	for ref, until := range s {
		left := time.Until(until)
		if left <= 0 {
			delete(s, ref)
		}
		next = min(next, left)
	}
	return min(max(due, now+micros(time.Second)), now+max(micros(next), 1))
}
