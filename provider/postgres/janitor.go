package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

// How often each process sweeps on average, how many inboxes one statement reads, and how many times the duration of a
// sweep the process rests after it. So a store with many waiting instances costs the server no more than a hundredth of
// a core per process.
const (
	janitorEvery = time.Minute
	janitorBatch = 1000
	janitorRests = 100
)

const (
	// The inboxes of the next keys after $1. It walks from inbox to inbox, so that instances without messages cost
	// nothing, however many there are.
	sqlInboxPage = `WITH RECURSIVE page (key, n) AS ((SELECT m.key, 1 FROM perdure.inbox m WHERE m.key > $1 ORDER BY m.key LIMIT 1)
		UNION ALL SELECT (SELECT m.key FROM perdure.inbox m WHERE m.key > page.key ORDER BY m.key LIMIT 1), n + 1 FROM page
		WHERE page.key IS NOT NULL AND n < $2)`
	// The instances among them whose ready time is missing, or later than the first message.
	sqlAudit = sqlInboxPage + `
	SELECT page.key, i.key IS NOT NULL FROM page LEFT JOIN LATERAL (SELECT x.key FROM perdure.instance x WHERE x.key = page.key
		AND x.status < 3 AND NOT x.deleting AND (x.ready_at = 0 OR x.ready_at > (SELECT m.visible_at FROM perdure.inbox m
			WHERE m.key = page.key ORDER BY m.visible_at LIMIT 1)) OFFSET 0) i ON true WHERE page.key IS NOT NULL ORDER BY page.key`
	// The instance may change meanwhile, and the message that this found be gone. Then a turn without messages is
	// fetched, which is harmless.
	sqlMend = `UPDATE perdure.instance i SET ready_at = w.first,
	fetch_at = CASE WHEN i.status <> 1 OR i.deleting OR i.blocked AND i.retry_at = 0 THEN 0
		ELSE greatest(w.first, i.not_before_at, CASE WHEN i.blocked THEN i.retry_at ELSE 0 END, i.lease_until) END
	FROM (SELECT l.key, (SELECT min(m.visible_at) FROM perdure.inbox m WHERE m.key = l.key) AS first
		FROM (SELECT i.key FROM perdure.instance i WHERE i.key = ANY($1::uuid[]) AND i.status < 3 AND NOT i.deleting
			ORDER BY i.key FOR UPDATE OF i SKIP LOCKED) l) w
	WHERE i.key = w.key AND w.first IS NOT NULL AND (i.ready_at = 0 OR w.first < i.ready_at) RETURNING 1`
	sqlOldAsks = `DELETE FROM perdure.ask WHERE ask_id IN (SELECT a.ask_id FROM perdure.ask a WHERE a.until <= ` + sqlNow + ` FOR UPDATE SKIP LOCKED)`
)

// janitor mends what correct code never leaves behind: ready times that do not match the inbox, which would make an
// instance sleep for ever. It counts what it mends.
type janitor struct {
	db       *database
	notifier *notifier
	ctx      context.Context //nolint:containedctx // it ends with the provider
	cancel   context.CancelFunc
	ended    sync.WaitGroup
	mended   atomic.Int64
}

func startJanitor(db *database, notifier *notifier) *janitor {
	j := &janitor{db: db, notifier: notifier}
	j.ctx, j.cancel = context.WithCancel(db.hard)
	j.ended.Go(j.loop)
	return j
}

func (j *janitor) stop() {
	j.cancel()
	j.ended.Wait()
}

func (j *janitor) loop() {
	rest := janitorEvery
	for {
		// Processes that were started together must not sweep together.
		timer := time.NewTimer(rest/2 + rand.N(rest))
		select {
		case <-timer.C:
			began := time.Now()
			j.sweep()
			rest = max(janitorEvery, janitorRests*time.Since(began))
		case <-j.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// sweep audits all inboxes, and removes expired questions and sessions.
func (j *janitor) sweep() {
	err := j.auditAll()
	for _, old := range []string{sqlOldAsks, sqlOldSessions} {
		if err == nil {
			err = j.run(func(b *pgx.Batch) { b.Queue(j.db.names.sql(old)) })
		}
	}
	if err != nil && j.ctx.Err() == nil {
		j.db.opts.Logger.Warn("perdure postgres: a sweep of the janitor failed", "error", err)
	}
}

// auditAll audits the inboxes page by page, so that no transaction is long.
func (j *janitor) auditAll() error {
	for page := (audit{more: true}); page.more; {
		next, err := j.inboxes(sqlAudit, page.last)
		if err == nil && len(next.wrong) > 0 {
			err = j.mend(next.wrong)
		}
		if err != nil {
			return err
		}
		page = next
	}
	return nil
}

// audit is the result for one page of inboxes.
type audit struct {
	last  provider.UUID
	more  bool
	wrong []provider.UUID // instances with a wrong ready time
}

// inboxes reads the inboxes of the next keys after one. The statement returns which of them are wrong.
func (j *janitor) inboxes(sql string, after provider.UUID, args ...any) (a audit, err error) {
	// The zero UUID is no key. The parameter must not be NULL.
	from := pgtype.UUID{Bytes: after, Valid: true}
	args = append([]any{from, int64(janitorBatch)}, args...)
	err = j.run(func(b *pgx.Batch) {
		b.Queue(j.db.names.sql(sql), args...).Query(func(rows pgx.Rows) error {
			var bad bool
			n := 0
			_, err := pgx.ForEachRow(rows, []any{into(&a.last), &bad}, func() error {
				if n++; bad {
					a.wrong = append(a.wrong, a.last)
				}
				return nil
			})
			a.more = n == janitorBatch
			return err
		})
	})
	return a, err
}

// mend derives the ready times of instances from their inboxes, and wakes the calls that wait for them.
func (j *janitor) mend(keys []provider.UUID) error {
	mended := int64(0)
	err := j.run(func(b *pgx.Batch) {
		b.Queue(j.db.names.sql(sqlMend), uuids(keys)).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				mended++
			}
			return rows.Err()
		})
	})
	if err == nil && mended > 0 {
		j.mended.Add(mended)
		j.notifier.wakeAll()
	}
	return err
}

// run runs what queue adds to a batch, in a transaction of its own with a deadline.
func (j *janitor) run(queue func(*pgx.Batch)) error {
	ctx, cancel := j.db.bounded(j.ctx)
	defer cancel()
	b := j.db.byIndex()
	queue(b)
	return j.db.pooled(ctx, b)
}
