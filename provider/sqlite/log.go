package sqlite

import (
	"cmp"
	"fmt"
	"os"
)

const (
	// checkpointAt is how many pages the log has when SQLite copies it into the file, inside a commit.
	checkpointAt = 2000
	// logRoom is how long the write-ahead log is made in advance: for the pages at which a checkpoint comes at the latest, and for
	// the group that crosses them. A sync of four pages took 110 to 124 us where the file had room, and 272 to 307 us where the
	// commit extended it, because the new length must be durable, too.
	logRoom = 32 + (checkpointAt+250)*(24+4096)
	// logStep is how much of it is written at once, so that no commit waits long.
	logStep = 128 << 10
	// logAfter is how many commits a process makes before it makes that room.
	logAfter = 16
)

// makeRoom extends the log. SQLite ignores what is behind its last frame, as it ignores the rest of an older log.
func (j *janitor) makeRoom() error {
	f, err := os.OpenFile(j.store.path+"-wal", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was synchronised
	zeros, more := make([]byte, logStep), true
	for more && err == nil {
		m := j.store.writer.submit("log", func(*tx) error {
			more, err = fill(f, zeros)
			return nil // a failure concerns the log's room alone: the calls of the same group go on
		})
		if !j.store.writer.awaitRun(m, j.quit) {
			return nil
		}
		if err = cmp.Or(m.Err, err); err == nil {
			err = f.Sync()
		}
	}
	return err //nolint:wrapcheck // the caller says what it is about
}

// fill writes zeros behind the end of a log, unless it is long enough. It runs inside a transaction, so no other process
// writes there.
func fill(log *os.File, zeros []byte) (more bool, err error) {
	info, err := log.Stat()
	if err != nil || info.Size() >= logRoom {
		return false, err //nolint:wrapcheck // the caller says what it is about
	}
	_, err = log.WriteAt(zeros, info.Size())
	return true, err //nolint:wrapcheck // the caller says what it is about
}
