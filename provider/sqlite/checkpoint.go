package sqlite

import (
	"time"

	sqlite "modernc.org/sqlite"
)

// SQLite restarts the log once all of it was copied into the file, which takes some milliseconds. By itself it copies
// inside the commit that makes the log long enough. The writer copies sooner, when no call waits.
const (
	checkpointAfter = 1000 // pages
	checkpointAt    = 2000 // where SQLite does it inside a commit
	lull            = 500 * time.Microsecond
	maxMissed       = 5 // lulls that did not come, after which the next is not looked for more seldom
)

const sqlCheckpoint = "PRAGMA wal_checkpoint(PASSIVE)"

// A backlog is what the log holds of this process's commits.
type backlog struct {
	file    connection // the writer's
	written int        // pages, since the connection was opened
	copied  int        // of these, when the last checkpoint began
	last    time.Time
	missed  int // how often in a row no lull came
}

// committed notes a commit, whose pages are in the log.
func (b *backlog) committed() {
	b.last = time.Now()
	if n, _, err := b.file.Status(sqlite.DBStatusCacheWrite, false); err == nil {
		b.written = n
	}
}

func (b *backlog) long() bool { return b.written-b.copied >= checkpointAfter }

// pause is how long after a commit to look for a lull. Calls at a steady pace must not be held up each time.
func (b *backlog) pause() time.Duration { return lull << b.missed }

// checkpoint copies the log into the file if it is long and there was no call for a moment. It reports whether it did.
func (b *backlog) checkpoint(db statements) (bool, error) {
	if !b.long() {
		return false, nil
	}
	if time.Since(b.last) < lull {
		b.missed = min(b.missed+1, maxMissed)
		return false, nil
	}
	b.copied, b.missed = b.written, 0
	_, err := db.integer(sqlCheckpoint)
	return true, err
}
