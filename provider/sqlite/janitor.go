package sqlite

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// How often the janitor runs, and how many instances it looks at in one transaction.
const (
	janitorEvery = time.Minute
	janitorBatch = 500
)

const (
	// Ready times beside the first visible times of inboxes, for a page of keys, so that no
	// transaction is long.
	sqlAudit = `SELECT i.key, i.ready_at, coalesce((SELECT m.visible_at FROM perdure_inbox m WHERE m.key = i.key
		ORDER BY m.visible_at, m.id LIMIT 1), 0) FROM perdure_instance i WHERE i.key > ? AND i.status < 3 ORDER BY i.key LIMIT ?`
	sqlInboxSize = `SELECT count(*), coalesce(sum(length(payload)), 0) FROM perdure_inbox WHERE key = ?`
	sqlOldAsks   = `DELETE FROM perdure_ask WHERE until <= ?`
)

// A janitor mends what no correct code leaves behind: ready times that are not those of
// the inbox, which would let an instance sleep for ever. It counts what it mends.
type janitor struct {
	store  *store
	quit   chan struct{}
	ended  chan struct{}
	mended atomic.Int64
	cursor provider.UUID
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
	tick := time.NewTicker(janitorEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			j.sweep()
		case <-j.quit:
			return
		}
	}
}

// sweep audits all instances, a batch per transaction.
func (j *janitor) sweep() {
	j.cursor = provider.UUID{}
	for more := true; more; {
		m := &member{op: "janitor", done: make(chan struct{}), run: func(t *tx) (err error) {
			more, err = j.audit(t)
			return err
		}}
		if !j.store.writer.submit(m, false) {
			return
		}
		select {
		case <-m.done:
		case <-j.quit:
			if !j.store.writer.withdraw(m) {
				<-m.done
			}
			return
		}
		if m.err != nil {
			j.store.log.Warn("perdure sqlite: the janitor stopped early", "path", j.store.path, "error", m.err)
			return
		}
	}
}

// audit looks at the next batch; false after the last one.
func (j *janitor) audit(t *tx) (more bool, err error) {
	if err := t.flush(); err != nil { // the group's changes are part of the truth
		return false, err
	}
	if _, err := t.exec(sqlOldAsks, t.elapsed); err != nil {
		return false, err
	}
	var wrong []provider.UUID
	n, last := 0, j.cursor
	err = t.each(sqlAudit, func(r *row) error {
		n++
		last = r.uuid(0)
		if first, ready := r.int(2), r.int(1); first != 0 && (ready == 0 || ready > first) {
			wrong = append(wrong, last)
		}
		return nil
	}, j.cursor[:], janitorBatch)
	if err != nil {
		return false, err
	}
	for _, key := range wrong {
		if err := t.mend(key); err != nil {
			return false, err
		}
	}
	j.mended.Add(int64(len(wrong)))
	j.cursor = last
	return n == janitorBatch, nil
}

// mend derives what an instance says about its inbox from the inbox.
func (t *tx) mend(key provider.UUID) error {
	h, err := t.head(key)
	if err != nil || h == nil {
		return err
	}
	if _, err := t.one(sqlInboxSize, func(r *row) { h.inbox, h.inboxBytes = r.int(0), r.int(1) }, key); err != nil {
		return err
	}
	t.touchWide(h)
	return t.recompute(h)
}
