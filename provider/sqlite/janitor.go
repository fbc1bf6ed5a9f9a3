package sqlite

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// The janitor runs at most once each janitorEvery, and reads janitorBatch instances in one transaction. After a sweep it rests
// janitorRests times as long as the sweep took, so that a store of many waiting instances costs no more of a core.
const (
	janitorEvery = time.Minute
	janitorBatch = 500
	janitorRests = 500
)

const (
	// Ready times with the first visible times of inboxes, for a page of keys, so that no transaction is long. It walks from
	// inbox to inbox, so instances that wait for nothing cost nothing.
	sqlAudit = `WITH RECURSIVE page (key) AS (SELECT min(key) FROM perdure_inbox WHERE key > ? UNION ALL
		SELECT (SELECT min(m.key) FROM perdure_inbox m WHERE m.key > page.key) FROM page WHERE page.key IS NOT NULL LIMIT ?)
		SELECT page.key, i.status, i.ready_at, (SELECT m.visible_at FROM perdure_inbox m WHERE m.key = page.key
		ORDER BY m.visible_at, m.id LIMIT 1) FROM page LEFT JOIN perdure_instance i ON i.key = page.key WHERE page.key IS NOT NULL`
	sqlInboxSize = `SELECT count(*), coalesce(sum(length(payload)), 0) FROM perdure_inbox WHERE key = ?`
	sqlOldAsks   = `DELETE FROM perdure_ask WHERE until <= ?`
)

// A janitor repairs ready times that do not match the inbox, which would let an instance sleep for ever. Correct code never
// leaves any. It counts the repairs.
type janitor struct {
	store    *store
	quit     chan struct{}
	ended    chan struct{}
	repaired atomic.Int64
}

func startJanitor(s *store) *janitor {
	j := &janitor{store: s, quit: make(chan struct{}), ended: make(chan struct{})}
	go j.loop()
	return j
}

func (j *janitor) stop() {
	close(j.quit)
	<-j.ended
}

func (j *janitor) loop() {
	defer close(j.ended)
	next := time.NewTimer(janitorEvery)
	defer next.Stop()
	needsRoom := j.store.writer.needsLogRoom
	for {
		select {
		case <-next.C:
			began := time.Now()
			j.sweep()
			next.Reset(restAfter(time.Since(began)))
		case <-needsRoom:
			needsRoom = nil
			if err := j.makeRoom(); err != nil { // then the log grows as it is written
				j.store.log.Debug("perdure sqlite: the log was not made longer", "path", j.store.path, "error", err)
			}
		case <-j.quit:
			return
		}
	}
}

// restAfter is how long the janitor rests after a sweep that took a given time.
func restAfter(took time.Duration) time.Duration { return max(janitorEvery, janitorRests*took) }

// sweep audits all instances, a batch per transaction.
func (j *janitor) sweep() {
	for page := (audit{more: true}); page.more; {
		from := page.last
		var next audit
		m := j.store.writer.submit("janitor", func(t *tx) (err error) {
			next, err = t.audit(from) // afresh if the group runs twice
			return err
		})
		if !j.store.writer.awaitRun(m, j.quit) {
			return
		}
		if m.Err != nil {
			j.store.log.Warn("perdure sqlite: the janitor stopped early", "path", j.store.path, "error", m.Err)
			return
		}
		j.repaired.Add(next.repaired)
		page = next
	}
}

// audit is what one transaction of a sweep found.
type audit struct {
	last     provider.UUID
	more     bool
	repaired int64
}

// audit checks the next batch of inboxes after from.
func (t *tx) audit(from provider.UUID) (a audit, err error) {
	if err := t.Flush(); err != nil { // the group's changes count, too
		return a, err
	}
	if _, err := t.exec(sqlOldAsks, t.Elapsed); err != nil {
		return a, err
	}
	if _, err := t.exec(sqlSweepSessions, t.Elapsed); err != nil {
		return a, err
	}
	var wrong []provider.UUID
	n := 0
	err = t.each(sqlAudit, func(r *row) error {
		n++
		a.last = r.uuid(0)
		status, ready, first := provider.Status(r.int(1)), r.int(2), r.int(3)
		if status != 0 && !status.Ended() && (ready == 0 || ready > first) {
			wrong = append(wrong, a.last)
		}
		return nil
	}, from[:], janitorBatch)
	if err != nil {
		return a, err
	}
	for _, key := range wrong {
		if err := t.repair(key); err != nil {
			return a, err
		}
	}
	a.more, a.repaired = n == janitorBatch, int64(len(wrong))
	return a, nil
}

// repair sets what an instance says about its inbox from the inbox.
func (t *tx) repair(key provider.UUID) error {
	h, err := t.Head(key)
	if err != nil || h == nil {
		return err
	}
	if _, err := t.one(sqlInboxSize, func(r *row) { h.Inbox, h.InboxBytes = r.int(0), r.int(1) }, key); err != nil {
		return err
	}
	t.TouchWide(h)
	return t.Recompute(h)
}
