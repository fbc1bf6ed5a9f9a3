package sqlite

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
)

// refuses waits until the store refuses calls for a given reason.
func refuses(t *testing.T, p *Provider, reason error) {
	t.Helper()
	await(t, "the loss to be seen", func() bool {
		err := createIn(t.Context(), p, newKey().String())
		return errors.Is(err, reason) && provider.OutcomeOf(err) == provider.OutcomeNothing
	})
}

// SQLite deletes the log of a database when it opens an empty file of the same name. A database that was moved away and back
// would lose it.
func TestLogThatAnotherOpenerDeletedIsMissed(t *testing.T) {
	dir := t.TempDir()
	path, away := filepath.Join(dir, "store.db"), filepath.Join(dir, "away")
	p := openTest(t, path, Options{})
	create(t, p, "one", "x")
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	careless, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = careless.ExecContext(t.Context(), `CREATE TABLE orders (id TEXT)`)
	if err := errors.Join(err, careless.Close(), os.Rename(away, path)); err != nil {
		t.Fatal(err)
	}
	refuses(t, p, errLogMoved)
	if _, err := p.Get(t.Context(), provider.GetRequest{ID: "one"}); !errors.Is(err, errLogMoved) {
		t.Error("get:", err)
	}
	if _, err := p.BeginTx(t.Context(), nil); !errors.Is(err, errLogMoved) {
		t.Error("begin:", err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openTest(t, path, Options{}).Get(t.Context(), provider.GetRequest{ID: "one"}); err != nil {
		t.Error("what was stored is not saved by Close:", err)
	}
}

func TestLogThatIsTakenAwayIsMissed(t *testing.T) {
	for _, suffix := range []string{"-wal", "-shm"} {
		path := filepath.Join(t.TempDir(), "store.db")
		p := openTest(t, path, Options{})
		create(t, p, "one", "x")
		if err := os.Rename(path+suffix, path+".away"); err != nil {
			t.Fatal(err)
		}
		refuses(t, p, errLogMoved)
		if err := os.Rename(path+".away", path+suffix); err != nil {
			t.Fatal(err)
		}
		await(t, "the return to be seen", func() bool { return createIn(t.Context(), p, newKey().String()) == nil })
	}
}

// A second store on the file does not become an empty one while the file is away.
func TestStoreCreatesNoFileInPlaceOfTheOneThatIsAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.BeginTx(t.Context(), nil); !errors.Is(err, errMoved) {
		t.Error("begin:", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a new file")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if err := beginOwn(t, p).Rollback(); err != nil {
		t.Error(err)
	}
}

func TestFileThatIsReplacedIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	writeFile(t, path, emptyStore(t))
	p := openTest(t, path, Options{ReadOnly: true})
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, emptyStore(t))
	if _, err := p.Count(t.Context(), provider.CountRequest{}); !errors.Is(err, errMoved) {
		t.Error("count:", err)
	}
}
