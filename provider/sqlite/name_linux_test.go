package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/provider"
)

// linked makes a store that another process has open, and a second name of its file.
func linked(t *testing.T) (first, second string, release func()) {
	t.Helper()
	dir := t.TempDir()
	first, second = filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	if err := openTest(t, first, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	cmd, in, lines := startChild(t, "one", first)
	if !lines.Scan() {
		t.Fatal("the other process did not open the store")
	}
	if err := os.Link(first, second); err != nil {
		t.Skip(err)
	}
	return first, second, func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// refusedNames checks that an error names both names.
func refusedNames(t *testing.T, what string, err error, names ...string) {
	t.Helper()
	if !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("%s: %v: want ErrInvalid", what, err)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %q does not name %s", what, err, name)
		}
	}
}

// A live process has the file open by another name, on whose log the own commits would write over its.
func TestSecondNameOfAnOpenFileIsRefused(t *testing.T) {
	first, second, release := linked(t)
	for what, o := range map[string]Options{"write": {}, "command": {NoMigrate: true}, "read": {ReadOnly: true}} {
		p, err := OpenWith(second, o)
		if err == nil {
			err = p.Close()
		}
		refusedNames(t, what, err, first, second)
	}
	_, err := Migrations(t.Context(), second)
	refusedNames(t, "migrations", err, first, second)
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := openTest(t, copied, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Restore(t.Context(), copied, second, true)
	refusedNames(t, "restore", err, first, second)
	if p, err := Open(first); err != nil {
		t.Error("the same name:", err)
	} else if err := p.Close(); err != nil {
		t.Error(err)
	}
	release()
	if err := openTest(t, second, Options{}).Close(); err != nil { // nobody has it open
		t.Error(err)
	}
}

// The commits of a killed process are in the log beside the name that it used. Another name has no log.
func TestLogOfADeadProcessIsNotLeftBehindByAnotherName(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	cmd, lines := start(t, "forever", first)
	for range 5 {
		if !lines.Scan() {
			t.Fatal("the other process stored too little")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := os.Link(first, second); err != nil {
		t.Skip(err)
	}
	for _, o := range []Options{{}, {NoMigrate: true}, {ReadOnly: true}} {
		p, err := OpenWith(second, o)
		if err == nil {
			err = p.Close()
		}
		refusedNames(t, "open", err, first+"-wal", second)
	}
	p := openTest(t, first, Options{})
	if _, err := p.Get(t.Context(), provider.GetRequest{ID: "child-4"}); err != nil {
		t.Error("a stored instance:", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openTest(t, second, Options{}).Close(); err != nil { // the log was folded into the file
		t.Error(err)
	}
}

// Two paths to one directory lead to one name.
func TestPathsToOneDirectoryAreOneName(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, "real", "a.db")
	if err := os.Mkdir(filepath.Dir(first), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := openTest(t, first, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	mount := filepath.Join(dir, "mount")
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	bind(t, filepath.Dir(first), mount)
	cmd, in, lines := startChild(t, "one", first)
	if !lines.Scan() {
		t.Fatal("the other process did not open the store")
	}
	create(t, openTest(t, filepath.Join(mount, "a.db"), Options{}), "one", "x")
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
}

func bind(t *testing.T, from, to string) {
	t.Helper()
	if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
		t.Skip("nothing can be mounted here:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(to, 0); err != nil {
			t.Error(err)
		}
	})
}

func TestMountedFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	origin, alone := filepath.Join(dir, "real.db"), filepath.Join(dir, "alone.db")
	if err := openTest(t, origin, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, alone, nil)
	bind(t, origin, alone)
	for _, o := range []Options{{}, {NoMigrate: true}, {ReadOnly: true}} {
		p, err := OpenWith(alone, o)
		if err == nil {
			err = p.Close()
		}
		refusedNames(t, "open", err, alone, "mount the directory", "MountedFile")
	}
	_, err := Restore(t.Context(), origin, alone, true)
	refusedNames(t, "restore", err, "mount the directory")
	if _, err := Restore(t.Context(), alone, filepath.Join(dir, "new.db"), false); err != nil {
		t.Error("a backup that is mounted:", err)
	}
	if err := openTest(t, alone, Options{MountedFile: true}).Close(); err != nil {
		t.Error(err)
	}
}

func TestMountPointsAreRead(t *testing.T) {
	const list = "26 1 254:0 / / rw - ext4 /dev/vda rw\n41 26 254:0 /h/a.db /data/my\\040shop.db rw shared:1 - ext4 /dev/vda rw\n42 26 254:0 /d /dir rw - ext4 x rw"
	for path, want := range map[string]bool{"/data/my shop.db": true, "/dir/a.db": false, "/h/a.db": false, "/data": false, "/dir": true} {
		if got := mounted(strings.NewReader(list), path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

func TestFileWithSeveralNamesIsWarnedOf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	var said bytes.Buffer
	o := Options{Logger: slog.New(slog.NewTextHandler(&said, nil))}
	if err := openTest(t, path, o).Close(); err != nil {
		t.Fatal(err)
	}
	if said.Len() > 0 {
		t.Errorf("one name: %s", &said)
	}
	if err := os.Link(path, filepath.Join(dir, "snapshot.db")); err != nil {
		t.Skip(err)
	}
	for _, o.ReadOnly = range []bool{false, true} {
		said.Reset()
		if err := openTest(t, path, o).Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), "names=2") {
			t.Errorf("two names: %q", &said)
		}
	}
}

// Closing a file drops the locks of the process, also those of the program's own connections.
func TestClosingLeavesTheLocksOfTheProgramsConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	p := openTest(t, path, Options{})
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "CREATE TABLE mine (x)"); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, in, lines := startChild(t, "one", path)
	if !lines.Scan() {
		t.Fatal("the other process did not open the store")
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil { // it would delete the log if it seemed to be the last
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Error("the log of an open connection is gone:", err)
	}
	if err := errors.Join(conn.Close(), db.Close()); err != nil {
		t.Error(err)
	}
	if err := openTest(t, path, Options{}).Close(); err != nil {
		t.Error(err)
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if len(registry.kept) > 0 {
		t.Errorf("%d files are still open", len(registry.kept))
	}
}

// A file that a reader's locks have kept open is closed with the reader.
func TestLastReaderClosesWhatItHasKeptOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	w := openTest(t, path, Options{})
	r := openTest(t, path, Options{ReadOnly: true})
	for _, p := range []*Provider{w, r} {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r = openTest(t, path, Options{ReadOnly: true})
	w = openTest(t, path, Options{})
	for _, p := range []*Provider{w, r} {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, err := os.Readlink("/proc/self/fd/" + file.Name()); err == nil && strings.HasPrefix(name, path) {
			t.Errorf("%s is still open", name)
		}
	}
}
