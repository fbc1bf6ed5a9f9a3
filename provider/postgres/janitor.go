package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// janitorEvery is how often each process looks, on average.
const janitorEvery = time.Minute

const (
	// Ready times that are later than the first message of the inbox, or missing. In one that changes meanwhile this
	// may find a message that is gone: then a turn without messages is fetched, no harm.
	sqlMend = `UPDATE perdure.instance i SET ready_at = w.first,
	fetch_at = CASE WHEN i.status <> 1 OR i.deleting OR i.blocked AND i.retry_at = 0 THEN 0
		ELSE greatest(w.first, i.not_before_at, CASE WHEN i.blocked THEN i.retry_at ELSE 0 END, i.lease_until) END
	FROM (SELECT l.key, (SELECT min(m.visible_at) FROM perdure.inbox m WHERE m.key = l.key) AS first
		FROM (SELECT i.key FROM perdure.instance i WHERE i.status < 3 AND NOT i.deleting AND EXISTS (SELECT 1 FROM perdure.inbox m
			WHERE m.key = i.key AND (i.ready_at = 0 OR m.visible_at < i.ready_at)) ORDER BY i.key FOR UPDATE OF i SKIP LOCKED) l) w
	WHERE i.key = w.key AND w.first IS NOT NULL AND (i.ready_at = 0 OR w.first < i.ready_at)`
	sqlOldAsks = `DELETE FROM perdure.ask WHERE ask_id IN (SELECT a.ask_id FROM perdure.ask a WHERE a.until <= ` + sqlNow + ` FOR UPDATE SKIP LOCKED)`
)

// A janitor mends what no correct code leaves behind: ready times that are not those of
// the inbox, which would let an instance sleep for ever. It counts what it mends.
type janitor struct {
	p      *Provider
	ctx    context.Context //nolint:containedctx // it ends with the provider
	cancel context.CancelFunc
	ended  sync.WaitGroup
	mended atomic.Int64
}

func startJanitor(p *Provider) *janitor {
	j := &janitor{p: p}
	j.ctx, j.cancel = context.WithCancel(p.hard)
	j.ended.Go(j.loop)
	return j
}

func (j *janitor) stop() {
	j.cancel()
	j.ended.Wait()
}

func (j *janitor) loop() {
	for {
		// Processes that were started together shall not look together.
		timer := time.NewTimer(janitorEvery/2 + rand.N(janitorEvery))
		select {
		case <-timer.C:
			j.sweep()
		case <-j.ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (j *janitor) sweep() {
	ctx, cancel := context.WithTimeout(j.ctx, janitorEvery/2)
	defer cancel()
	tag, err := j.p.pool.Exec(ctx, j.p.names.sql(sqlMend))
	if err == nil {
		j.mended.Add(tag.RowsAffected())
		_, err = j.p.pool.Exec(ctx, j.p.names.sql(sqlOldAsks))
	}
	if err == nil {
		_, err = j.p.pool.Exec(ctx, j.p.names.sql(sqlOldSessions))
	}
	if err != nil && j.ctx.Err() == nil {
		j.p.opts.Logger.Warn("perdure postgres: the janitor could not finish", "error", err)
	}
	if tag.RowsAffected() > 0 {
		j.p.signals.wakeAll()
	}
}
