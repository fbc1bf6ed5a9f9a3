package sqlite

import (
	"path/filepath"
	"testing"

	sqlite "modernc.org/sqlite"
)

// All connections of a process share one pool of pages. A reader that kept pages of the writer would leave the writer without a
// cache until the reader is used again.
func TestReaderGivesBackWhatItTookFromTheWriter(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	kept, err := write(t.Context(), p.handle, "fill", 0, func(tx *tx, kept *int) error {
		err := tx.do(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
			INSERT INTO perdure_value (key, name, value) SELECT x'00', i, zeroblob(900) FROM n`)
		if err == nil {
			*kept, err = cached(p.store.writer.conn)
		}
		return err
	})
	if err != nil || kept < 2*readerMost {
		t.Fatalf("the writer caches %d bytes, %v: too few to be taken", kept, err)
	}
	rows := int64(0)
	err = p.read(t.Context(), "scan", func(c *conn) (err error) {
		rows, err = c.integer(t.Context(), `SELECT count(*) FROM perdure_value WHERE length(value) > 0`)
		return err
	})
	if err != nil || rows != 12000 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	for _, r := range p.store.readers.all {
		if n, err := cached(r); err != nil || n > readerMost {
			t.Errorf("a reader that is not in use keeps %d bytes of pages, %v", n, err)
		}
	}
}

// cached returns how many bytes of pages a connection holds.
func cached(c *conn) (int, error) {
	file, ok := c.raw.(connection)
	if !ok {
		return 0, errDriver
	}
	n, _, err := file.Status(sqlite.DBStatusCacheUsed, false)
	return n, err
}
