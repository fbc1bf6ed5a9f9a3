package sqlite

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"sync"
	"time"

	"github.com/perdure/perdure/provider/internal/relational"
)

// A stamp has every column that changes with what Get returns. Each turn and each steering writes a new version. A renewal moves the
// end of its lease.
const (
	sqlStampInstance = `SELECT i.version, i.status, i.deleting, i.blocked, i.blocked_count, i.retry_at, i.deliveries, i.ready_at, i.next_message,
		i.inbox_messages, l.n, t.* FROM perdure_instance i, (SELECT count(*) AS n FROM perdure_dead_letter WHERE key = ?1) l,
		(SELECT count(*), sum(event_id * attempt), sum(event_id * deliveries), sum(event_id * state), sum(lease_until), sum(not_before_at),
			sum(deadline_at) FROM perdure_task WHERE key = ?1) t WHERE i.key = ?1`
	sqlStampValue = `SELECT i.status, i.blocked, v.value FROM perdure_instance i LEFT JOIN perdure_value v ON v.key = i.key AND v.name = ?2
		WHERE i.key = ?1`
)

//nolint:gochecknoglobals // constant; stamps are compared within the process
var stampSeed = maphash.MakeSeed()

// stampAtLeast is how long own commits alone make no stamps be read. They wake the calls that follow what they change: this is a net below.
const stampAtLeast = 10 * time.Second

// stampReads knows what was counted when stamps were last read.
type stampReads struct {
	mu      sync.Mutex
	changes [2]int64 // at the last two polls: a commit is counted before it can be read
	polls   int      // that are in changes
	commits int64    // of our own, when stamps were last read
	readAt  time.Time
}

// due reports whether followers may miss something without their stamps: another process has committed, or this one has without waking those
// who follow what it changed. A store without a writer does not know.
func (r *stampReads) due(w *writer) bool {
	if w == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	own, changes := w.commits.Load(), w.otherCommits.Load()+w.unnamed.Load()
	same := r.polls == len(r.changes) && r.changes[0] == changes && r.changes[1] == changes
	r.changes[1], r.changes[0] = r.changes[0], changes
	r.polls = min(r.polls+1, len(r.changes))
	if same && (own == r.commits || time.Since(r.readAt) < stampAtLeast) {
		return false
	}
	r.commits, r.readAt = own, time.Now()
	return true
}

// failed makes the next poll read stamps.
func (r *stampReads) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polls = 0
}

// Stamps implements [relational.Source].
func (s storage) Stamps(ctx context.Context, list []relational.Followed) (stamps []uint64, err error) {
	if !s.store.stamps.due(s.store.writer) {
		return nil, nil
	}
	defer func() {
		if err != nil {
			s.store.stamps.failed()
		}
	}()
	err = s.readSnapshot(ctx, "get", func(c *conn) error {
		stamps = make([]uint64, 0, len(list))
		for _, what := range list {
			stamp, err := stampOf(ctx, c, what)
			if err != nil {
				return err
			}
			stamps = append(stamps, stamp)
		}
		return nil
	})
	return stamps, err
}

func stampOf(ctx context.Context, c *conn, what relational.Followed) (uint64, error) {
	h := maphash.Hash{}
	h.SetSeed(stampSeed)
	number := func(n int64) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	if what.Name != "" {
		_, err := c.one(ctx, sqlStampValue, func(r *row) {
			number(r.int(0))
			number(r.int(1))
			if !r.null(2) {
				number(1)
				_, _ = h.Write(r.blob(2))
			}
		}, what.Key, what.Name)
		return h.Sum64(), err
	}
	_, err := c.one(ctx, sqlStampInstance, func(r *row) {
		version := r.uuid(0)
		_, _ = h.Write(version[:])
		for i := 1; i <= 17; i++ {
			number(r.int(i))
		}
	}, what.Key)
	return h.Sum64(), err
}
