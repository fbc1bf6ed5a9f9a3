package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/provider"
)

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("these are notes, not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		is         error
		says       string
	}{
		{"empty path", "", provider.ErrInvalid, "the path is empty"},
		{"memory", ":memory:", provider.ErrInvalid, "provider/memory"},
		{"directory", dir, provider.ErrInvalid, "a directory"},
		{"no directory", filepath.Join(dir, "no", "store.db"), os.ErrNotExist, "the directory must exist"},
		{"not a database", text, provider.ErrNotStore, "not a SQLite database"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Open(c.path)
			if err == nil {
				t.Fatal("opened", p.Close())
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %q: want one that is %q and says %q", err, c.is, c.says)
			}
		})
	}
}

func execSQL(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// schemaRow is the statement by which a later release notes a migration, and the oldest level of code that may run on it.
func schemaRow(version, oldest int) string {
	return fmt.Sprintf("INSERT INTO perdure_schema VALUES (%d, 'later', %d, 1)", version, oldest)
}

func TestHazard41_NewerSchemaIsRefusedUnlessItAdmitsUs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	if err := openTest(t, path, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, path, schemaRow(codeLevel+1, oldestLevel))
	if err := openTest(t, path, Options{}).Close(); err != nil {
		t.Fatal("an expanded schema admits this release:", err)
	}
	execSQL(t, path, schemaRow(codeLevel+2, codeLevel+1))
	_, err := Open(path)
	if !errors.Is(err, provider.ErrNewerSchema) {
		t.Fatalf("error %v: want ErrNewerSchema", err)
	}
	for _, says := range []string{
		fmt.Sprintf("schema %d", codeLevel+2), fmt.Sprintf("level %d or newer", codeLevel+1), fmt.Sprintf("has level %d", codeLevel), "upgrade",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("error %q does not say %q", err, says)
		}
	}
}

func TestOpenSharesTheApplicationsDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	execSQL(t, path, `CREATE TABLE orders (id INTEGER PRIMARY KEY)`, `INSERT INTO orders VALUES (42)`)
	_, err := OpenWith(path, Options{NoMigrate: true})
	if !errors.Is(err, provider.ErrNotStore) {
		t.Fatalf("error %v: want ErrNotStore", err)
	}
	p := openTest(t, path, Options{})
	steps, err := p.Migrations(t.Context())
	if err != nil || len(steps) == 0 {
		t.Fatal(err, steps)
	}
	for _, s := range steps {
		if !s.Applied || s.SQL == "" || s.Name == "" {
			t.Errorf("step %d (%s) is not applied or empty", s.Version, s.Name)
		}
	}
	if err := p.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	n, err := p.store.readers.all[0].integer(t.Context(), `SELECT id FROM orders`)
	if err != nil || n != 42 {
		t.Fatal(n, err)
	}
}

func TestOpenTwiceSharesTheStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	a := openTest(t, path, Options{})
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	b := openTest(t, link, Options{})
	if a.store != b.store {
		t.Fatal("two stores on one file in one process")
	}
	waiting := make(chan error, 2)
	for _, p := range []*Provider{a, b} {
		go func() {
			_, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), provider.MaxWait))
			waiting <- err
		}()
	}
	awaitWaiting(t, a.store.writer, 2)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, provider.ErrClosed) {
		t.Fatal("the blocked call of the closed handle:", err)
	}
	create(t, b, "one", "x")
	if err := <-waiting; err != nil {
		t.Fatal("the blocked call of the other handle:", err)
	}
	if _, err := a.Get(t.Context(), provider.GetRequest{ID: "one"}); !errors.Is(err, provider.ErrClosed) {
		t.Fatal("a closed handle answered", err)
	}
}
