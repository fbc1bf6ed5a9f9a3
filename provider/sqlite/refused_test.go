package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// A refused file is unchanged, byte for byte, and no file is created next to it.
func TestRefusedFileIsNotChanged(t *testing.T) {
	store := emptyStore(t)
	newer := filepath.Join(t.TempDir(), "newer.db")
	writeFile(t, newer, store)
	execSQL(t, newer, schemaRow(codeLevel+1, codeLevel+1))
	foreign := filepath.Join(t.TempDir(), "app.db")
	execSQL(t, foreign, `CREATE TABLE orders (id INTEGER PRIMARY KEY)`, `INSERT INTO orders VALUES (42)`)
	for _, c := range []struct {
		name    string
		content []byte
		options Options
		is      error
		says    string
	}{
		{"text", []byte(strings.Repeat("these are notes, not a database\n", 100)), Options{}, provider.ErrNotStore, "not a SQLite database"},
		{"short text", []byte("notes"), Options{}, provider.ErrNotStore, "not a SQLite database"},
		{"text to read", []byte(strings.Repeat("notes\n", 1000)), Options{ReadOnly: true}, provider.ErrNotStore, "not a SQLite database"},
		{"newer store", readFile(t, newer), Options{}, provider.ErrNewerSchema, "upgrade"},
		{"somebody else's", readFile(t, foreign), Options{NoMigrate: true}, provider.ErrNotStore, "migration 1 (core) is missing"},
		{"somebody else's to read", readFile(t, foreign), Options{ReadOnly: true}, provider.ErrNotStore, "migration 1 (core) is missing"},
		{"empty", nil, Options{NoMigrate: true}, provider.ErrNotStore, "migration 1 (core) is missing"},
		{"empty to read", nil, Options{ReadOnly: true}, provider.ErrNotStore, "migration 1 (core) is missing"},
		{"torn header", append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{0xff}, 5000)...), Options{}, provider.ErrNotStore, "not a SQLite database"},
		{"torn schema", append(bytes.Clone(store[:100]), bytes.Repeat([]byte{0xff}, len(store)-100)...), Options{}, nil, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "store.db")
			writeFile(t, path, c.content)
			p, err := OpenWith(path, c.options)
			if err == nil {
				t.Fatal("opened", p.Close())
			}
			if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %q: want one that is %q and says %q", err, c.is, c.says)
			}
			if !bytes.Equal(readFile(t, path), c.content) {
				t.Error("the file was changed")
			}
			if left := names(t, dir); len(left) != 1 {
				t.Errorf("files %v are left", left)
			}
		})
	}
}

func TestMissingFileIsNotMade(t *testing.T) {
	for name, o := range map[string]Options{"to read": {ReadOnly: true}, "not to migrate": {NoMigrate: true}} {
		dir := t.TempDir()
		p, err := OpenWith(filepath.Join(dir, "store.db"), o)
		if err == nil {
			t.Fatal("opened", p.Close())
		}
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "there must be a store already") {
			t.Errorf("%s: %v", name, err)
		}
		if left := names(t, dir); len(left) != 0 {
			t.Errorf("%s: files %v are left", name, left)
		}
	}
}

func TestEmptyFileBecomesAStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	writeFile(t, path, nil)
	create(t, openTest(t, path, Options{}), "one", "x")
}

func TestReadOnlyStoreIsReadAndNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	w := openTest(t, path, Options{})
	c := startChain(t, w, "w")
	execSQL(t, path, `VACUUM INTO '`+path+`.copy'`)
	p := openTest(t, path+".copy", Options{ReadOnly: true})
	ctx := t.Context()
	before := readFile(t, p.store.path)
	reads := map[string]func() error{
		"get": func() error {
			_, err := p.Get(ctx, provider.GetRequest{Key: c.key, WithTasks: true, WithValues: true})
			return err
		},
		"list":  func() error { _, err := p.List(ctx, provider.ListRequest{}); return err },
		"count": func() error { _, err := p.Count(ctx, provider.CountRequest{}); return err },
		"history": func() error {
			_, err := p.ReadHistory(ctx, provider.ReadHistoryRequest{Key: c.key, From: 1})
			return err
		},
		"stats":   func() error { _, err := p.Stats(ctx, provider.StatsRequest{}); return err },
		"letters": func() error { _, err := p.DeadLetters(ctx, provider.DeadLettersRequest{}); return err },
		"scan": func() error {
			_, err := p.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
			return err
		},
		"schema": func() error { return p.Migrate(ctx) },
		"wait": func() error {
			_, err := p.Get(ctx, provider.GetRequest{Key: c.key, WaitEnded: true, Wait: time.Millisecond})
			return err
		},
	}
	for name, read := range reads {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range writesOf(t, p, c) {
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || !errors.Is(err, ErrReadOnly) || e.Outcome != provider.OutcomeNothing || e.Retryable {
			t.Errorf("%s: %v: want ErrReadOnly, which is not retried", name, err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(readFile(t, p.store.path), before) {
		t.Error("the file was changed")
	}
}

// writesOf calls everything that changes a store, and returns the errors.
func writesOf(t *testing.T, p *Provider, c *chain) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), make(map[string]error)
	note := func(name string, err error) { errs[name] = err }
	note("create", createIn(ctx, p, "new"))
	elsewhere := *c
	elsewhere.p = p
	note("commit", elsewhere.step(t))
	_, err := p.FetchTurns(ctx, fetchOf("x", newToken(), time.Minute))
	note("fetch turns", err)
	_, err = p.FetchTasks(ctx, tasksOf("default", "charge", time.Minute))
	note("fetch tasks", err)
	_, err = p.FetchAsks(ctx, provider.FetchAsksRequest{Max: 1, Lease: time.Second, Wait: time.Second})
	note("fetch asks", err)
	_, err = p.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{})
	note("release", err)
	_, err = p.ReportTasks(ctx, provider.ReportTasksRequest{})
	note("report", err)
	_, err = p.RenewTasks(ctx, provider.RenewTasksRequest{Lease: time.Second})
	note("renew", err)
	_, err = p.Send(ctx, provider.SendRequest{Key: c.key})
	note("send", err)
	_, err = p.Ask(ctx, provider.AskRequest{Key: c.key, AskID: newToken(), Wait: time.Second})
	note("ask", err)
	note("answer", p.Answer(ctx, provider.AnswerRequest{AskID: newToken()}))
	_, err = p.Steer(ctx, provider.SteerRequest{Key: c.key, Action: provider.SteerSuspend, Commit: newToken()})
	note("steer", err)
	_, err = p.Delete(ctx, provider.DeleteRequest{Key: c.key, Force: true})
	note("delete", err)
	_, err = p.Prune(ctx, provider.PruneRequest{})
	note("prune", err)
	_, err = p.DeadLetters(ctx, provider.DeadLettersRequest{Action: provider.DeadLettersRedrive, IDs: []int64{1}})
	note("redrive", err)
	_, err = p.Lease(ctx, provider.LeaseRequest{
		Action: provider.LeaseAcquire, Name: "l", Owner: "o", Token: newToken(), Duration: time.Second,
	})
	note("lease", err)
	_, err = p.Record(ctx, provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: "k"})
	note("record", err)
	return errs
}

// A store that is open for writing serves a read-only handle, too, and each handle keeps its mode.
func TestReadOnlyHandleBesideAWritingOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	w := openTest(t, path, Options{})
	r := openTest(t, path, Options{ReadOnly: true})
	create(t, w, "one", "x")
	if _, err := r.Get(t.Context(), provider.GetRequest{ID: "one"}); err != nil {
		t.Error(err)
	}
	if err := createIn(t.Context(), r, "two"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("error %v: want ErrReadOnly", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = openTest(t, path, Options{ReadOnly: true})
	w = openTest(t, path, Options{}) // not served by the reader's store
	create(t, w, "two", "x")
	if _, err := r.Get(t.Context(), provider.GetRequest{ID: "two"}); err != nil {
		t.Error(err)
	}
}

func TestFileThatIsTakenAwayIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	p := openTest(t, path, Options{})
	create(t, p, "one", "x")
	for name, take := range map[string]func(away string) error{
		"removed":  func(away string) error { return os.Rename(path, away) },
		"replaced": func(away string) error { return errors.Join(os.Rename(path, away), os.WriteFile(path, nil, 0o600)) },
	} {
		away := filepath.Join(dir, "away")
		if err := take(away); err != nil {
			t.Fatal(err)
		}
		await(t, "the loss to be seen", func() bool { return createIn(t.Context(), p, newKey().String()) != nil })
		err := createIn(t.Context(), p, "lost")
		if !errors.Is(err, errMoved) || provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
			t.Errorf("%s: create answered %v", name, err)
		}
		if _, err := p.Get(t.Context(), provider.GetRequest{ID: "one"}); !errors.Is(err, errMoved) {
			t.Errorf("%s: get answered %v", name, err)
		}
		if _, err := p.FetchTurns(t.Context(), fetchOf("x", newToken(), time.Minute)); !errors.Is(err, errMoved) {
			t.Errorf("%s: fetch answered %v", name, err)
		}
		if err := os.Rename(away, path); err != nil {
			t.Fatal(err)
		}
		await(t, "the return to be seen", func() bool { return createIn(t.Context(), p, newKey().String()) == nil })
		if _, err := p.Get(t.Context(), provider.GetRequest{ID: "lost"}); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%s: a create that was refused is stored: %v", name, err)
		}
	}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
