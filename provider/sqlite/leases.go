package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// noticeEach is the least time between two reads of the leased tasks. A read also waits noticeShare times as long as the
	// last one took.
	noticeEach  = 25 * time.Millisecond
	noticeShare = 20
	// minHeld is how many leases are noted at least before those that are over are forgotten.
	minHeld = 1024
)

const sqlLeasesNow = `SELECT key, execution, event_id, cancel FROM perdure_task WHERE lease_until > 0`

// leases are the tasks that this process has leased. Another process that cancels one of them, or ends its execution, cannot
// say so. So they are read after a commit of another process, and notices are sent for those that are gone or cancelled.
// A notice is a hint: most tasks that are gone were completed here and are no longer held.
type leases struct {
	refs        []provider.TaskRef
	kept        int  // of them after the last read
	readPending bool // they were not read since the last commit of another process
	nextRead    time.Time
}

// note adds a task that was leased here. A transaction that is rolled back leaves one too many, which does no harm.
func (l *leases) note(ref provider.TaskRef) {
	if l != nil {
		l.refs = append(l.refs, ref)
	}
}

// check returns notices of leased tasks that were cancelled or removed. It reads them after a commit of another process, and when
// many are noted.
func (l *leases) check(db statements) (over []provider.Notice, err error) {
	now := time.Now()
	if !l.readPending && len(l.refs) < max(minHeld, 2*l.kept) || now.Before(l.nextRead) {
		return nil, nil
	}
	if l.readPending = false; len(l.refs) == 0 {
		return nil, nil
	}
	defer func() { l.nextRead = now.Add(max(noticeEach, noticeShare*time.Since(now))) }()
	leased := make(map[provider.TaskRef]bool)
	err = db.each(sqlLeasesNow, func(r *row) error {
		leased[provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)}] = r.bool(3)
		return nil
	})
	if err != nil {
		return nil, err
	}
	kept := l.refs[:0]
	for _, ref := range l.refs {
		if cancelled, held := leased[ref]; held && !cancelled {
			kept = append(kept, ref)
			continue
		}
		over = append(over, provider.Notice(ref))
	}
	l.refs, l.kept = kept, len(kept)
	return over, nil
}
