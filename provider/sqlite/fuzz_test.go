package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// FuzzCursor reads any text as the cursor of a list: one that List could have returned, or ErrInvalid.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "A", relational.WriteCursor(1, provider.UUID{1}), relational.WriteCursor(-1, provider.UUID{}), "====", "\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, key, err := relational.ReadCursor(text)
		if err != nil {
			if !errors.Is(err, provider.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if a, k, err := relational.ReadCursor(relational.WriteCursor(at, key)); a != at || k != key || err != nil {
			t.Fatalf("%q: %v %v became %v %v, %v", text, at, key, a, k, err)
		}
	})
}

// FuzzHistoryRow reads a history with a row of any bytes. It must return events without gaps, or an error. Packed events are read
// unchanged.
func FuzzHistoryRow(f *testing.F) {
	path := filepath.Join(f.TempDir(), "store.db")
	store, err := OpenWith(path, Options{Synchronous: Off})
	if err != nil {
		f.Fatal(err)
	}
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)&_pragma=synchronous(off)")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := errors.Join(db.Close(), store.Close()); err != nil {
			f.Error(err)
		}
	})
	key := provider.UUID{1}
	_, err = store.Create(f.Context(), provider.CreateRequest{
		ID: "fuzz", Key: key, Commit: provider.UUID{2}, Name: "fuzz", Message: provider.NewMessage{Kind: 1, Payload: []byte("start")},
	})
	if err != nil {
		f.Fatal(err)
	}
	two, _ := relational.PackEvents(nil, [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("x"), 200)})
	for _, row := range [][]byte{nil, {0}, two, two[:len(two)-1], bytes.Repeat([]byte{0xff}, 20)} {
		f.Add(int64(1), int64(3), row, int64(3), int64(1))
	}
	f.Add(int64(-5), int64(1)<<62, two, int64(1)<<62, int64(2))
	f.Fuzz(func(t *testing.T, first, count int64, row []byte, length, from int64) {
		exec := func(sql string, args ...any) {
			if _, err := db.ExecContext(t.Context(), sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec(`DELETE FROM perdure_history`)
		exec(`INSERT INTO perdure_history (key, execution, first_id, events, data) VALUES (?, 1, ?, ?, ?)`, key[:], first, count, append([]byte{}, row...))
		exec(`UPDATE perdure_instance SET history_length = ?`, length)
		res, err := store.ReadHistory(t.Context(), provider.ReadHistoryRequest{Key: key, From: max(from, 1)})
		if err != nil {
			if provider.Retryable(err) || errors.Is(err, provider.ErrNotFound) {
				t.Fatal(err)
			}
			return
		}
		for i, e := range res.Events {
			if e.ID != max(from, 1)+int64(i) || len(e.Data) > len(row) {
				t.Fatalf("event %d at place %d, %d bytes", e.ID, i, len(e.Data))
			}
		}
	})
}
