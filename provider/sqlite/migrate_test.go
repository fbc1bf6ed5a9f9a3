package sqlite

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A store of the first release is listed as it is. Opening it brings it up to date.
func TestMigrationsOfAFileThatIsNotOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	applied := func(path string) (list []bool) {
		t.Helper()
		steps, err := Migrations(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			list = append(list, step.Applied)
		}
		return list
	}
	steps, err := relational.Migrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	if got := applied(""); len(got) != len(steps) || got[0] {
		t.Errorf("no file: %v", got)
	}
	if _, err := Migrations(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	execSQL(t, path, sqlCreateSchema, steps[0].SQL, `INSERT INTO perdure_schema VALUES (1, 'core', 1, 1)`)
	before := readFile(t, path)
	if got := applied(path); len(got) != len(steps) || !got[0] || got[1] {
		t.Errorf("a store of the first release: %v", got)
	}
	if string(readFile(t, path)) != string(before) {
		t.Error("the file was changed")
	}
	if _, err := OpenWith(path, Options{NoMigrate: true}); !errors.Is(err, provider.ErrNotStore) {
		t.Errorf("opened without its migrations: %v", err)
	}
	create(t, openTest(t, path, Options{}), "one", "x")
	if got := applied(path); !got[0] || !got[1] {
		t.Errorf("migrated: %v", got)
	}
	var oldest int64
	p := openTest(t, path, Options{})
	err = p.read(t.Context(), "test", func(c *conn) (err error) {
		oldest, err = c.integer(t.Context(), `SELECT max(oldest) FROM perdure_schema`)
		return err
	})
	if err != nil || oldest != 1 {
		t.Errorf("releases from level %d on may run, %v: want 1, the migrations only add", oldest, err)
	}
}
