package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// noticeEach is the least time between two looks at the leased tasks, and noticeShare how many times as long as the last look.
	noticeEach  = 25 * time.Millisecond
	noticeShare = 20
	// minHeld is how many leases are noted at least before those that are over are forgotten.
	minHeld = 1024
)

const sqlLeasesNow = `SELECT key, execution, event_id, cancel FROM perdure_task WHERE lease_until > 0`

// holding is what a process notes of the tasks that it leases. Another process that cancels one of them, or ends its execution, cannot
// tell. So the wake-up by a foreign commit has the leases read, and notices tell of those that are gone or cancelled. A notice
// is a hint: most of the tasks that are gone have been completed here, and nobody holds them any more.
type holding struct {
	refs  []provider.TaskRef
	left  int  // of them after the last look
	owed  bool // the leases were not read since the last foreign commit
	again time.Time
}

// holds notes that a task was leased here. A transaction that is rolled back leaves a note too many, which does no harm.
func (t *tx) holds(ref provider.TaskRef) {
	if !t.guest {
		t.writer.holding.refs = append(t.writer.holding.refs, ref)
	}
}

// hear tells of leased tasks that were cancelled or removed, after a foreign commit and when many leases are noted.
func (w *writer) hear() {
	h := &w.holding
	now := time.Now()
	if !h.owed && len(h.refs) < max(minHeld, 2*h.left) || now.Before(h.again) {
		return
	}
	if h.owed = false; len(h.refs) == 0 {
		return
	}
	defer func() { h.again = now.Add(max(noticeEach, noticeShare*time.Since(now))) }()
	leased := make(map[provider.TaskRef]bool)
	err := w.tx.each(sqlLeasesNow, func(r *row) error {
		leased[provider.TaskRef{Key: r.uuid(0), Execution: r.int(1), EventID: r.int(2)}] = r.bool(3)
		return nil
	})
	if err != nil {
		w.complain("leased tasks cannot be read", err)
		return
	}
	var over []provider.Notice
	kept := h.refs[:0]
	for _, ref := range h.refs {
		if cancelled, held := leased[ref]; held && !cancelled {
			kept = append(kept, ref)
			continue
		}
		over = append(over, provider.Notice(ref))
	}
	h.refs, h.left = kept, len(kept)
	w.store.hub.Announce(over)
}
