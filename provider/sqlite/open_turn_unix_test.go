//go:build unix

package sqlite

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// While another process writes, opening waits in the queue of all writers. SQLite's busy handler would starve there.
func TestOpeningTakesItsTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	if err := openTest(t, path, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	cmd, in, lines := startChild(t, "midway", path)
	await := func(what string) {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), what) {
				return
			}
		}
		t.Fatalf("the other process did not say %q", what)
	}
	send := func() {
		t.Helper()
		if _, err := io.WriteString(in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	await("ready")
	send()
	await("writes")
	for _, o := range []Options{{BusyTimeout: 20 * time.Millisecond}, {BusyTimeout: 20 * time.Millisecond, NoMigrate: true}} {
		p, err := OpenWith(path, o)
		if err == nil {
			err = p.Close()
		}
		if !errors.Is(err, errFileLocked) || !strings.Contains(err.Error(), "ry again") {
			t.Errorf("%v: want an error of the queue of writers, with advice", err)
		}
	}
	send()
	if err := openTest(t, path, Options{}).Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}
