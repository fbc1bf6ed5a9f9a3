//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// permissive lets every user read new files for the duration of a test, as most shells do.
func permissive(t *testing.T) {
	t.Helper()
	was := syscall.Umask(0o022)
	t.Cleanup(func() { syscall.Umask(was) })
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode(), want)
	}
}

// A copy of a database admits nobody whom the database does not admit.
func TestCopiesHaveTheModeOfTheDatabase(t *testing.T) {
	permissive(t)
	for _, mode := range []os.FileMode{0o600, 0o640, 0o660} {
		dir := t.TempDir()
		path, copied, fresh := filepath.Join(dir, "a.db"), filepath.Join(dir, "a.bak"), filepath.Join(dir, "new.db")
		p := openTest(t, path, Options{})
		create(t, p, "one", "x")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := p.Backup(t.Context(), copied); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		checkMode(t, copied, mode)
		if err := os.Chmod(copied, mode|0o004); err != nil { // of an earlier release
			t.Fatal(err)
		}
		for _, to := range []string{path, fresh} {
			if _, err := Restore(t.Context(), copied, to, true); err != nil {
				t.Fatal(err)
			}
			checkMode(t, to, mode)
			q := openTest(t, to, Options{})
			create(t, q, "two", "x")
			checkMode(t, to+"-wal", mode)
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A backup that root makes or restores belongs to the service.
func TestCopiesBelongToTheOwnerOfTheDatabase(t *testing.T) {
	path := serviceStore(t, 0o600)
	copied := path + ".bak"
	p := openTest(t, path, Options{})
	if err := p.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), copied, path, true); err != nil {
		t.Fatal(err)
	}
	checkOwner(t, path, 0o600)
}
