package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// A fetchSchedule is when the writer tries waiting fetches again, for which kinds, and which items they skip.
type fetchSchedule struct {
	dueTimes

	watched watchedKinds
	tried   tried
	skips   skips
}

// dueTimes are the next moments at which something becomes ready by time alone. They are never later than the truth, so that
// no timer is late. A search that finds nothing sets them right.
type dueTimes struct {
	wall    provider.Time
	elapsed int64
	stale   bool          // unknown: ask the file
	lead    time.Duration // how long before they are due turns are searched, too
}

// passed reports whether something may be due.
func (d *dueTimes) passed(now provider.Time, elapsed int64) bool {
	return d.stale || now >= d.wall || elapsed >= d.elapsed
}

// ahead is when to search for a turn that is due at the given moment.
func (d *dueTimes) ahead(due provider.Time) provider.Time {
	if due == never {
		return never
	}
	return due.Add(-d.lead)
}

// within is how long the writer may sleep, and no longer than the given time.
func (d *dueTimes) within(sleep time.Duration, c *clock) time.Duration {
	if d.wall != never {
		sleep = min(sleep, d.wall.Sub(c.wall()))
	}
	if d.elapsed != never {
		sleep = min(sleep, time.Duration(d.elapsed-c.elapsed())*time.Microsecond)
	}
	return sleep
}

// tried is which waiting fetches the last round has tried, and for which instant. Later events are for the next round.
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

// lowerDue lowers the due moments to those that a committed transaction has set.
func (s *fetchSchedule) lowerDue(due provider.Time, elapsed int64) {
	s.wall = min(s.wall, s.ahead(due))
	s.elapsed = min(s.elapsed, elapsed)
}

// resetDue reads the due moments anew after they have passed, once all waiting fetches were tried for them.
func (s *fetchSchedule) resetDue(t *tx) error {
	if !s.passed(t.Now, t.Elapsed) {
		return nil
	}
	d, err := s.readDue(t)
	if err != nil {
		d = dueTimes{wall: t.Now + 100_000, elapsed: t.Elapsed + 100_000, lead: d.lead} // try again soon
	}
	d.elapsed = s.skips.within(d.elapsed, t.Elapsed)
	d.elapsed = min(d.elapsed, t.Effects.ElapsedDue) // the ends of the stickiness that the tries found
	s.dueTimes = d
	return err
}

// readDue reads the next due moments after the last try from the file. The last try watched each kind that a waiting
// call names, so a kind that no call waits for costs nothing.
func (s *fetchSchedule) readDue(t *tx) (dueTimes, error) {
	if _, err := t.Kinds(); err != nil {
		return dueTimes{lead: s.lead}, err
	}
	at := s.tried
	s.watched.turns.forgetBefore(at.elapsed - keepWatched)
	s.watched.tasks.forgetBefore(at.elapsed - keepWatched)
	s.watched.turns.fresh, s.watched.tasks.fresh = s.watched.turns.fresh[:0], s.watched.tasks.fresh[:0]
	r := &dueReader{tx: t, schedule: s, due: dueTimes{wall: never, elapsed: never, lead: s.lead}}
	for kind := range s.watched.turns.known {
		r.turns(kind)
	}
	for kind := range s.watched.tasks.known {
		r.tasks(kind)
	}
	d := &r.due
	d.wall = min(d.wall, provider.Time(r.next(sqlNextExpiry, at.now)))
	d.elapsed = min(d.elapsed, r.next(sqlNextTurnLease), r.next(sqlNextTaskLease), r.next(sqlNextAsk, at.elapsed))
	if t.kinds.Sessions() {
		d.elapsed = min(d.elapsed, r.next(sqlNextSession, at.elapsed))
	}
	return r.due, r.err
}

// readFreshDue lowers the due moments by the kinds that they do not cover yet, unless all are about to be read. After an
// error the next round reads everything.
func (s *fetchSchedule) readFreshDue(t *tx) {
	turns, tasks := &s.watched.turns, &s.watched.tasks
	if len(turns.fresh)+len(tasks.fresh) == 0 || !s.tried.served || s.tried.all && s.passed(t.Now, t.Elapsed) {
		return
	}
	r := &dueReader{tx: t, schedule: s, due: s.dueTimes}
	for _, kind := range turns.fresh {
		r.turns(kind)
	}
	for _, kind := range tasks.fresh {
		r.tasks(kind)
	}
	turns.fresh, tasks.fresh = turns.fresh[:0], tasks.fresh[:0]
	s.dueTimes = r.due
	s.stale = s.stale || r.err != nil
}

// A dueReader reads due moments after the last try, and keeps an error.
type dueReader struct {
	tx       *tx
	schedule *fetchSchedule
	due      dueTimes
	err      error
}

func (r *dueReader) next(sql string, args ...any) int64 {
	n, err := r.tx.integer(sql, args...)
	if err != nil {
		r.err = err
	}
	if n == 0 {
		return never
	}
	return n
}

func (r *dueReader) turns(kind int64) {
	d, after := &r.due, r.schedule.tried.now
	d.wall = min(d.wall, provider.Time(r.next(sqlNextTurn, kind, after)))
	if d.lead > 0 {
		d.wall = min(d.wall, d.ahead(provider.Time(r.next(sqlNextTurn, kind, after.Add(d.lead)))))
	}
	r.schedule.watched.turns.cover(kind)
}

func (r *dueReader) tasks(kind int64) {
	r.due.wall = min(r.due.wall, provider.Time(r.next(sqlNextTask, kind, r.schedule.tried.now)))
	r.schedule.watched.tasks.cover(kind)
}

// unskip lets fetches try an instance and its tasks again, because an operator has repaired them.
func (s *fetchSchedule) unskip(key provider.UUID) {
	for ref := range s.skips {
		if ref.Key == key {
			delete(s.skips, ref)
		}
	}
	s.stale = true
}

// skipFor is how long fetches skip a damaged item before they try it again.
const skipFor = 10 * time.Second

// skips are damaged items, and until when fetches skip them.
type skips map[provider.TaskRef]time.Time

// has reports whether a fetch skips an item.
func (s skips) has(ref provider.TaskRef) bool {
	until, ok := s[ref]
	if ok && time.Now().After(until) {
		delete(s, ref)
		return false
	}
	return ok
}

// within moves a due moment to when an item need not be skipped any longer. The writer pauses for a second at most,
// and does not retry without a pause where a lease cannot be ended.
func (s skips) within(due, now int64) int64 {
	if len(s) == 0 {
		return due
	}
	next := skipFor
	for ref, until := range s {
		left := time.Until(until)
		if left <= 0 {
			delete(s, ref)
		}
		next = min(next, left)
	}
	return min(max(due, now+micros(time.Second)), now+max(micros(next), 1))
}
