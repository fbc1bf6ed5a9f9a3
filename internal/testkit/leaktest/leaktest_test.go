package leaktest

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider/sqlite"
)

func TestMain(m *testing.M) { Main(m) }

// An open store is found by all of its files, even deleted ones.
func TestOpenFilesOfAStoreAreFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files are looked for on Linux only")
	}
	path := filepath.Join(t.TempDir(), "left.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	files := openFiles()
	for _, want := range []string{path, path + "-wal", path + "-shm", path + "-q", path + "-w", path + "-p"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is open, found are %v", want, files)
		}
	}
	if left := describe(nil, files); !strings.Contains(left, path) {
		t.Errorf("a store that is open is reported as %q", left)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if files := openFiles(); len(files) > 0 {
		t.Errorf("the store is closed, found are %v", files)
	}
}

func TestFilesOfStores(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/x/orders.db":                true,
		"/tmp/x/orders.db-wal":            true,
		"/tmp/x/orders.db-shm (deleted)":  true,
		"/tmp/x/orders.db (deleted)":      true,
		"/tmp/x.db/orders":                false,
		"/usr/share/names.dbx":            false,
		"socket:[12345]":                  false,
		"/tmp/go-build1/b001/testlog.txt": false,
	} {
		if got := ofStore(path); got != want {
			t.Errorf("%s: %v, must be %v", path, got, want)
		}
	}
}

func TestGoroutinesAreTold(t *testing.T) {
	if left := describe(errors.New("one in a loop"), nil); !strings.Contains(left, "one in a loop") {
		t.Errorf("a goroutine that is left is reported as %q", left)
	}
	if left := describe(nil, nil); left != "" {
		t.Errorf("nothing is left, which is reported as %q", left)
	}
}
