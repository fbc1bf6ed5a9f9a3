package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

// Two names of one file have two logs. The second process is refused while the first has the file open, also to read, and told both
// names. By the first name it may come in.
func TestSecondNameOfAFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	openTest(t, first, Options{})
	if err := os.Link(first, second); err != nil {
		t.Fatal(err)
	}
	for what, says := range map[string]string{second: "has this file open as " + first, first: ""} {
		out, err := childOutput(t, "create "+what)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(out, says) || !strings.Contains(out, second) || !strings.Contains(out, "mount the directory")) {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
	id := &identity{}
	var err error
	if id.file, err = os.Open(first); err != nil {
		t.Fatal(err)
	}
	defer id.close()
	if err := id.claim(second, true); !errors.Is(err, provider.ErrInvalid) { // as a reader in another process
		t.Errorf("a reader under another name: %v", err)
	}
	if err := id.claim(first, true); err != nil {
		t.Errorf("a reader under the same name: %v", err)
	}
}

// childOutput runs another process to its end and returns what it prints.
func childOutput(t *testing.T, role string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A snapshot by hard link is legitimate, so more than one name is only told.
func TestFileWithTwoNamesIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	p := openTest(t, path, Options{})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, path+".snapshot"); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	openTest(t, path, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "names=2") {
		t.Errorf("the log says %s", log.String())
	}
}

func TestMountPointsAreFound(t *testing.T) {
	list := "36 35 98:0 /mnt1 / rw - ext3 /dev/root rw\n" +
		`65 36 8:1 /data/s.db /data/a\040b\134c.db rw,relatime - ext4 /dev/sda1 rw` + "\n"
	for path, want := range map[string]bool{`/data/a b\c.db`: true, "/data": false, "/": true, "/data/s.db": false} {
		if got := mountsFile(strings.NewReader(list), path); got != want {
			t.Errorf("%s is a mount point: %v, want %v", path, got, want)
		}
	}
}

// Nobody reads a copy who may not read the original.
func TestCopiesKeepTheMode(t *testing.T) {
	dir := t.TempDir()
	mode := func(name string) os.FileMode {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	p := openTest(t, filepath.Join(dir, "a.db"), Options{})
	if err := errors.Join(p.Backup(t.Context(), filepath.Join(dir, "backup")), p.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), filepath.Join(dir, "backup"), filepath.Join(dir, "b.db"), false); err != nil {
		t.Fatal(err)
	}
	if mode("backup") != 0o600 || mode("b.db") != 0o600 {
		t.Errorf("the backup has mode %o, what is restored from it %o", mode("backup"), mode("b.db"))
	}
	if err := os.Chmod(filepath.Join(dir, "backup"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), filepath.Join(dir, "backup"), filepath.Join(dir, "a.db"), true); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "b.db"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), filepath.Join(dir, "backup"), filepath.Join(dir, "b.db"), true); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"a.db": 0o600, "b.db": 0o640, "backup": 0o644} {
		if got := mode(name); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

// Opening writes nothing outside of the queue of writers: beside one that never rests, it has its turn.
func TestOpeningTakesItsPlaceAmongWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	p := openTest(t, path, Options{})
	inside := make(chan struct{})
	leave := make(chan struct{})
	go func() {
		_, _ = write(t.Context(), p.handle, "hold", 0, func(*tx, *struct{}) error { close(inside); <-leave; return nil })
	}()
	<-inside
	c, err := connect(t.Context(), dsn(path, Options{BusyTimeout: 1}.withDefaults(), false)) // it waits for no lock
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	if err := checkSchema(t.Context(), c, true); err != nil {
		t.Errorf("what opening does before its turn: %v", err)
	}
	s := newStore(path, Options{}.withDefaults())
	if s.gate, err = openEntrance(path, 1); err != nil {
		t.Fatal(err)
	}
	defer s.gate.close()
	if err := s.prepare(t.Context(), c, Options{}); !errors.Is(err, errTurn) {
		t.Errorf("what opening writes does not wait in the queue: %v", err)
	}
	close(leave)
}
