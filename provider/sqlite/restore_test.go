package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

// holds makes a store with one instance, and returns its path.
func holds(t *testing.T, path, id string) string {
	t.Helper()
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Create(t.Context(), provider.CreateRequest{ID: id, Key: provider.NewKey(id), Commit: newToken(), Name: "orc"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// heldBy returns the ID of the only instance in a store.
func heldBy(t *testing.T, path string) string {
	t.Helper()
	p, err := OpenWith(path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	res, err := p.List(t.Context(), provider.ListRequest{Max: 2})
	if err != nil || len(res.Instances) != 1 {
		t.Fatalf("%s: %+v %v, want one instance", path, res, err)
	}
	return res.Instances[0].ID
}

func TestRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	backup, path := holds(t, filepath.Join(dir, "backup.db"), "old"), filepath.Join(dir, "store.db")
	r, err := Restore(t.Context(), backup, path, false)
	if err != nil || r.Bytes == 0 || r.Replaced != "" {
		t.Errorf("Restore: %+v %v", r, err)
	}
	if got := heldBy(t, path); got != "old" {
		t.Errorf("the restored store has %q", got)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// An existing file is refused, or kept under another name with its log, which SQLite would apply to the restored file.
func TestRestoreReplaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	backup, path := holds(t, filepath.Join(dir, "backup.db"), "old"), holds(t, filepath.Join(dir, "store.db"), "new")
	if _, err := Restore(t.Context(), backup, path, false); !errors.Is(err, provider.ErrInvalid) || !strings.Contains(err.Error(), "exists") {
		t.Errorf("Restore over a store: %v, want ErrInvalid", err)
	}
	if err := os.WriteFile(path+"-wal", []byte("a log"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Restore(t.Context(), backup, path, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := heldBy(t, path); got != "old" {
		t.Errorf("the restored store has %q", got)
	}
	if log, err := os.ReadFile(r.Replaced + "-wal"); string(log) != "a log" {
		t.Errorf("the log of the replaced store is %q %v", log, err)
	}
	if err := os.Remove(r.Replaced + "-wal"); err != nil {
		t.Fatal(err)
	}
	if got := heldBy(t, r.Replaced); got != "new" {
		t.Errorf("the replaced store has %q", got)
	}
	// A call that was killed in between has left a log alone.
	if err := errors.Join(os.Remove(path), os.WriteFile(path+"-wal", []byte("a log"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), backup, path, false); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("Restore beside a log: %v, want ErrInvalid", err)
	}
	if _, err := Restore(t.Context(), backup, path, true); err != nil {
		t.Error(err)
	}
	if got := heldBy(t, path); got != "old" {
		t.Errorf("the restored store has %q", got)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	backup, path := holds(t, filepath.Join(dir, "backup.db"), "old"), holds(t, filepath.Join(dir, "store.db"), "new")
	refused := func(from, to string, want error, text string) {
		t.Helper()
		if _, err := Restore(t.Context(), from, to, true); !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			t.Errorf("Restore(%q, %q): %v, want %v with %q", from, to, err, want, text)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*.part*")); len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
	}
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	refused(backup, path, provider.ErrInvalid, "in use")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	refused("", path, provider.ErrInvalid, "empty")
	refused(backup, backup, provider.ErrInvalid, "is the backup itself")
	refused(filepath.Join(dir, "none.db"), path, fs.ErrNotExist, "none.db")
	refused(backup, filepath.Join(dir, "none", "store.db"), provider.ErrInvalid, "must exist")
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(text, path, provider.ErrNotStore, "text.db")
	if got := heldBy(t, path); got != "new" {
		t.Errorf("after refusals the store has %q", got)
	}
}
