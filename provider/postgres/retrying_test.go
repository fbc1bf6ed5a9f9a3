package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/testkit/listing"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// TestHazard155_RetryingCountsEachInstanceOnce also checks that a second handle, with a pool and a cache of its own, sees the same.
func TestHazard155_RetryingCountsEachInstanceOnce(t *testing.T) {
	url := postgrestest.URL(t)
	o := Options{Schema: postgrestest.Schema(t, url), ListenURL: url}
	own := func() *pgxpool.Pool { return pool(t, url, func(*pgxpool.Config) {}) }
	listing.CheckRetrying(t, anotherHandle(t, own(), o), anotherHandle(t, own(), o))
}

// TestHazard156_RetryingReadsItsIndexAlone counts what is read of a store in which most tasks are not tried again.
func TestHazard156_RetryingReadsItsIndexAlone(t *testing.T) {
	p := plansOnce(t)
	listing.CheckRetryingReads(t, p, func() (sum int64) {
		for name, rows := range readRows(t, p) {
			if !strings.HasPrefix(name, "kind") {
				sum += rows
			}
		}
		return sum
	})
}

// TestRetriesWriteNoIndexEntry checks, for hazard 156, that the index of what retries has no column that a claim, a retry or a renewal changes:
// a task enters it once.
func TestRetriesWriteNoIndexEntry(t *testing.T) {
	p := plansOnce(t)
	var got string
	err := p.db.pool.QueryRow(t.Context(), `SELECT string_agg(a.attname, ' ' ORDER BY a.attnum) FROM pg_attribute a
		WHERE a.attrelid = to_regclass(quote_ident($1) || '.task_retrying')`, p.db.opts.Schema).Scan(&got)
	if want := "key execution event_id kind"; err != nil || got != want {
		t.Errorf("the index has the columns %q, want %q: %v", got, want, err)
	}
}
