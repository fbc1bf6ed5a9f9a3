package sqlite

import (
	"fmt"
	"os"
)

const (
	// logRoom is how long the write-ahead log is made in advance: for the pages at which SQLite begins it anew, and for the group that
	// crosses them. A commit that makes a file longer takes its file system nearly twice as long as one that writes over what is there,
	// since the new length must be durable, too.
	logRoom = 32 + 1250*(24+4096)
	// logAfter is how many commits a process makes before it takes that room.
	logAfter = 16
)

// makeRoom makes the log longer. SQLite takes what is behind its last frame, as it takes the rest of an older log, for nothing.
func (j *janitor) makeRoom() error {
	f, err := os.OpenFile(j.store.path+"-wal", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was synchronised
	m := j.store.writer.later("log", func(*tx) error { return fill(f) })
	if !j.await(m) || m.Err != nil {
		return m.Err
	}
	return f.Sync() //nolint:wrapcheck // the caller says what it is about
}

// fill writes zeros from the end of a log on. Inside a transaction nobody else writes there.
func fill(log *os.File) error {
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if room := logRoom - info.Size(); room > 0 {
		_, err = log.WriteAt(make([]byte, room), info.Size())
	}
	return err //nolint:wrapcheck // the caller says what it is about
}
