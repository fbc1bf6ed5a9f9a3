package costs

import (
	"bytes"
	"fmt"
	"os"
)

// LogLength returns the offset at which the frames of the SQLite database at path end in its write-ahead log. The file
// is longer: older frames follow, which SQLite overwrites, and reserved space.
func LogLength(path string) (int64, error) {
	const head, frame = 32, 24 + 4096
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		return 0, fmt.Errorf("the log: %w", err)
	}
	end := int64(head)
	for ; end+frame <= int64(len(log)); end += frame {
		if salts := log[end+8 : end+16]; !bytes.Equal(salts, log[16:24]) { // those of the header are its own
			break
		}
	}
	return end, nil
}
