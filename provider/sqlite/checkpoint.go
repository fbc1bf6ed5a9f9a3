package sqlite

import "time"

// SQLite begins the log anew once all of it was copied into the file, which takes some milliseconds. It would do that inside the
// commit that makes the log long enough; the writer does it sooner, when nobody calls.
const (
	checkpointAfter = 1000 // pages
	checkpointAt    = 2000 // where SQLite does it inside a commit
	lull            = 500 * time.Microsecond
	maxMissed       = 5 // lulls that did not come, after which the next is not looked for more seldom
)

const sqlCheckpoint = "PRAGMA wal_checkpoint(PASSIVE)"

// A backlog is what the log holds of this process's commits.
type backlog struct {
	written int // pages, since the connection was opened
	copied  int // of these, when the last checkpoint began
	last    time.Time
	missed  int // how often in a row a lull was looked for in vain
}

func (b *backlog) long() bool { return b.written-b.copied >= checkpointAfter }

// pause is how long after a commit a lull is looked for. Who calls at a steady pace shall not be held up by that each time.
func (b *backlog) pause() time.Duration { return lull << b.missed }

// checkpoint copies the log into the file if it is long and nobody has called for a moment; false if it is not time for that.
func (w *writer) checkpoint() bool {
	b := &w.backlog
	if !b.long() {
		return false
	}
	if time.Since(b.last) < lull {
		b.missed = min(b.missed+1, maxMissed)
		return false
	}
	b.copied, b.missed = b.written, 0
	if _, err := w.tx.db.integer(sqlCheckpoint); err != nil {
		w.complain("the log cannot be copied into the file", err)
	}
	return true
}
