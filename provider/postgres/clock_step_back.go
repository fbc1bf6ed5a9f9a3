package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// The database stamps what it stores with the time of its clock. If that clock is set back, earlier stamps are in the
// future, and no fetch would take those items until the clock gets there again. Processes detect the step and restamp
// what was due at once when it was stored: starts, messages and tasks. Items with a delay, such as timers and retries,
// wait for the clock.
const (
	// stepBackTolerance is how far the clock may go back without being noticed.
	stepBackTolerance = time.Second
	// stepBackTail is how long after a step statements that read the clock before it may commit.
	stepBackTail = 15 * time.Second
)

const (
	// The newest stamps in the store, for a process that has not read the clock before.
	sqlNewestStamp = `SELECT greatest((SELECT i.created_at FROM perdure.instance i ORDER BY i.created_at DESC, i.key DESC LIMIT 1),
		(SELECT max(n.renewed_at) FROM perdure.process n))`
	// The inboxes among the next ones after $1 that hold stamps in the future, up to $3.
	sqlStampedAhead = sqlInboxPage + `
	SELECT page.key, EXISTS (SELECT 1 FROM perdure.inbox m WHERE m.key = page.key AND NOT m.timer AND m.visible_at > ` + sqlNow + `
		AND m.visible_at <= $3) FROM page WHERE page.key IS NOT NULL ORDER BY page.key`
	// Messages keep the order in which they were sent. The first one of an instance has a delay if it is later than the
	// instance.
	sqlStampMessages = sqlClock + `
	held AS MATERIALIZED (SELECT i.key, i.created_at FROM perdure.instance i WHERE i.key = ANY($1::uuid[]) AND i.status < 3 AND NOT i.deleting
		ORDER BY i.key FOR UPDATE SKIP LOCKED),
	stamped AS (SELECT m.key, m.id, m.visible_at > c.now AND m.visible_at <= $2 AND NOT (m.id = 1 AND m.visible_at > held.created_at) AS ahead,
		least(c.now, min(m.visible_at) OVER (PARTITION BY m.key ORDER BY m.id ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) AS at
		FROM clock c, held JOIN perdure.inbox m ON m.key = held.key WHERE NOT m.timer),
	moved AS (UPDATE perdure.inbox m SET visible_at = s.at FROM stamped s WHERE s.ahead AND m.key = s.key AND m.id = s.id
		RETURNING m.key, m.visible_at),
	first AS (SELECT key, min(visible_at) AS at FROM moved GROUP BY key)
	UPDATE perdure.instance i SET ready_at = least(nullif(i.ready_at, 0), first.at), sticky_until = least(i.sticky_until, c.now),
		fetch_at = CASE WHEN i.status <> 1 OR i.blocked AND i.retry_at = 0 THEN 0
			WHEN i.lease_until > c.now AND i.fetch_at = i.lease_until THEN i.fetch_at
			ELSE greatest(least(nullif(i.ready_at, 0), first.at), i.not_before_at, CASE WHEN i.blocked THEN i.retry_at ELSE 0 END) END
	FROM first, clock c WHERE i.key = first.key RETURNING i.kind`
	// A later attempt waits for the delay of its retry. Items that were scheduled after the step wait for their own
	// delay.
	sqlStampTasks = sqlClock + `
	ahead AS MATERIALIZED (SELECT d.* FROM perdure.task_kind k CROSS JOIN LATERAL (
		SELECT t.key, t.execution, t.event_id FROM perdure.task t WHERE t.kind = k.id AND t.fetch_at > 0 AND t.fetch_at > (SELECT now FROM clock)
		AND t.fetch_at <= $1 AND t.state = 1 AND t.attempt = 1 AND t.fetch_at <> t.rank_at
		AND t.scheduled_at > (SELECT now FROM clock) FOR UPDATE SKIP LOCKED) d)
	UPDATE perdure.task t SET not_before_at = c.now, fetch_at = c.now FROM ahead a, clock c
	WHERE t.key = a.key AND t.execution = a.execution AND t.event_id = a.event_id RETURNING t.kind`
	// A living process renews its row at once. A stamp in the future would keep a dead one alive until then.
	sqlStampProcesses = `UPDATE perdure.process SET renewed_at = ` + sqlNow + ` WHERE renewed_at > ` + sqlNow
)

// stepBack detects that the clock of the database was set back, and repairs the stamps.
type stepBack struct {
	db       *database
	janitor  *janitor
	notifier *notifier
	ctx      context.Context //nolint:containedctx // it ends with the provider
	stop     func()
	steps    chan provider.Time // the latest time that the clock may have shown before the step
	ended    sync.WaitGroup

	// Used only by the goroutine that reads the clock: the last reading, and the local times before and after it.
	read     provider.Time
	from, to time.Time
}

func startStepBack(db *database, janitor *janitor, notifier *notifier) *stepBack {
	s := &stepBack{db: db, janitor: janitor, notifier: notifier, steps: make(chan provider.Time, 1)}
	ctx, cancel := context.WithCancel(db.hard)
	s.ctx, s.stop = ctx, func() {
		cancel()
		s.ended.Wait()
	}
	s.ended.Go(s.loop)
	return s
}

// queueNewest queries the newest stamp if this is the first reading of the clock.
func (s *stepBack) queueNewest(b *pgx.Batch, newest *provider.Time) {
	if s.read != 0 {
		return
	}
	b.Queue(s.db.names.sql(sqlNewestStamp)).QueryRow(func(r pgx.Row) error {
		var at *provider.Time
		err := r.Scan(&at)
		if at != nil {
			*newest = *at
		}
		return err
	})
}

// observe handles a reading of the clock between two local times. The clock was set back if it shows less than the last
// reading plus the time since, or less than the newest stamp in the store.
func (s *stepBack) observe(now, newest provider.Time, from, to time.Time) {
	latest := newest
	if s.read != 0 {
		latest = max(latest, s.read.Add(to.Sub(s.from)))
		newest = max(newest, s.read.Add(from.Sub(s.to)))
	}
	s.read, s.from, s.to = now, from, to
	if newest.Sub(now) <= stepBackTolerance {
		return
	}
	s.db.opts.Logger.Warn("perdure postgres: the database's clock was set back; what it hides is stamped anew, and timers and leases are late by as much",
		"by", newest.Sub(now))
	select {
	case s.steps <- latest:
	case earlier := <-s.steps: // the goroutine is still busy
		s.steps <- max(earlier, latest)
	}
}

func (s *stepBack) loop() {
	for {
		select {
		case latest := <-s.steps:
			s.repair(latest)
		case <-s.ctx.Done():
			return
		}
	}
}

// repair restamps what is in the future, up to a time. It repeats until nothing more can be stored by the old time.
func (s *stepBack) repair(latest provider.Time) {
	for began, pause := time.Now(), firstRetry; ; pause = min(2*pause, lastRetry) {
		err := s.restampAll(latest)
		if err != nil && s.ctx.Err() == nil {
			s.db.opts.Logger.Warn("perdure postgres: restamping items after a step of the clock failed, retrying", "error", err)
		}
		if err == nil && time.Since(began) > stepBackTail {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case later := <-s.steps:
			timer.Stop()
			latest, began, pause = max(latest, later), time.Now(), firstRetry
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// restampAll restamps what is in the future, up to a time, and wakes the calls that wait for it.
func (s *stepBack) restampAll(latest provider.Time) error {
	fx := relational.NewEffects()
	err := s.janitor.run(func(b *pgx.Batch) { b.Queue(s.db.names.sql(sqlStampProcesses)) })
	if err == nil {
		err = s.restamp(fx.Tasks, sqlStampTasks, int64(latest))
	}
	for page := (audit{more: true}); err == nil && page.more; {
		if page, err = s.janitor.inboxes(sqlStampedAhead, page.last, int64(latest)); err == nil && len(page.wrong) > 0 {
			err = s.restamp(fx.Turns, sqlStampMessages, uuids(page.wrong), int64(latest))
		}
	}
	if len(fx.Turns)+len(fx.Tasks) > 0 {
		s.notifier.hint(&fx)
	}
	return err
}

// restamp runs a statement that returns the kinds of what it restamped.
func (s *stepBack) restamp(kinds map[int64]struct{}, sql string, args ...any) error {
	return s.janitor.run(func(b *pgx.Batch) {
		b.Queue(s.db.names.sql(sql), args...).Query(func(rows pgx.Rows) error {
			var kind int64
			_, err := pgx.ForEachRow(rows, []any{&kind}, func() error {
				kinds[kind] = struct{}{}
				return nil
			})
			return err
		})
	})
}
