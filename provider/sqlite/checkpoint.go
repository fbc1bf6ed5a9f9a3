package sqlite

import "time"

// SQLite begins the log anew once all of it was copied into the file, which takes some milliseconds. It would do that inside the
// commit that makes the log long enough; the writer does it sooner, when nobody calls.
const (
	checkpointAfter = 1000 // pages
	checkpointAt    = 2000 // where SQLite does it inside a commit
	lull            = 500 * time.Microsecond
)

const sqlCheckpoint = "PRAGMA wal_checkpoint(PASSIVE)"

// A backlog is what the log holds of this process's commits.
type backlog struct {
	written int // pages, since the connection was opened
	copied  int // of these, when the last checkpoint began
	last    time.Time
}

func (b *backlog) long() bool { return b.written-b.copied >= checkpointAfter }

// checkpoint copies the log into the file if it is long and nobody has called for a moment; false if it is not time for that.
func (w *writer) checkpoint() bool {
	b := &w.backlog
	if !b.long() || time.Since(b.last) < lull {
		return false
	}
	b.copied = b.written
	if _, err := w.tx.db.integer(sqlCheckpoint); err != nil {
		w.complain("the log cannot be copied into the file", err)
	}
	return true
}
