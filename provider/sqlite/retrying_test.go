package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/listing"
	"github.com/perdure/perdure/provider"
)

// TestHazard155_RetryingCountsEachInstanceOnce also checks that a second handle sees the same.
func TestHazard155_RetryingCountsEachInstanceOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "retrying.db")
	listing.CheckRetrying(t, openTest(t, path, Options{}), openTest(t, path, Options{}))
}

// TestHazard156_RetryingReadsItsIndexAlone checks that what retries is found by the index of what retries, so that no list reads the
// tasks that do not.
func TestHazard156_RetryingReadsItsIndexAlone(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "plans.db"), Options{})
	f := listing.Filter{Name: "retrying", Asked: provider.Filter{Retrying: true}}
	err := p.reader.readSnapshot(t.Context(), "list", func(c *conn) error {
		checked := explained{lookup{t.Context(), c}, t, &f}
		_, _, err := dialect.Find(checked, &provider.ListRequest{Filter: f.Asked, Max: 10})
		if err == nil {
			_, err = dialect.Count(checked, &provider.CountRequest{Filter: f.Asked, Max: 10})
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRetriesWriteNoIndexEntry checks, for hazard 156, that the index of what retries has no column that a claim, a retry or a renewal changes:
// a task enters it once.
func TestRetriesWriteNoIndexEntry(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "columns.db"), Options{})
	got := ""
	err := p.reader.readSnapshot(t.Context(), "list", func(c *conn) error {
		return c.each(t.Context(), `SELECT name FROM pragma_index_info('perdure_task_retrying') ORDER BY seqno`, func(r *row) error {
			got += r.text(0) + " "
			return nil
		})
	})
	if want := "key execution event_id kind "; err != nil || got != want {
		t.Errorf("the index has the columns %q, want %q: %v", got, want, err)
	}
}
