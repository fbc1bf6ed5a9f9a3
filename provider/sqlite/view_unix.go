//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// deserted tells whether no process has the store open to work on it. It creates no lock
// file: without them nobody does.
func deserted(path string) bool {
	t := &turnstile{}
	defer t.close()
	for file, suffix := range map[**os.File]string{&t.queue: "-q", &t.writer: "-w", &t.presence: "-p"} {
		var err error
		if *file, err = os.Open(path + suffix); err != nil {
			return errors.Is(err, fs.ErrNotExist)
		}
	}
	if !t.vacant() {
		return false
	}
	defer t.leave()
	return t.alone()
}
