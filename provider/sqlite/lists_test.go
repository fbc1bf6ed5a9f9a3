package sqlite

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/listing"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

var listInstances = flag.Int64("lists.instances", 24_000, "how many instances BenchmarkLists makes")

// filled opens a store with many instances.
func filled(tb testing.TB, all int64) *Provider {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "lists.db")
	p := openTest(tb, path, Options{})
	fill := listing.Dialect{
		Table: "perdure_", Key: "unhex(printf('%032x', N))", True: "1", No: "0",
		Recursive: "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < TOTAL)",
	}
	execSQL(tb, path, fill.Fill(all)...)
	return p
}

func TestHazard89_ListsAmongMany(t *testing.T) {
	longtest.Skip(t)
	const all = 24_000
	listing.Check(t, filled(t, all), all, nil)
}

// A count is exact up to its maximum, also where no condition has few rows.
func TestHazard89_CountsAmongMany(t *testing.T) {
	longtest.Skip(t)
	const all = 50_000
	listing.CheckCounts(t, filled(t, all), all)
}

// explained is a lookup that checks the plan of each statement.
type explained struct {
	lookup

	t *testing.T
	f *listing.Filter
}

func (e explained) Numbers(sql string, args ...any) ([]int64, error) {
	e.check(sql, args)
	return e.lookup.Numbers(sql, args...)
}

func (e explained) Places(sql string, args ...any) ([]relational.Position, error) {
	e.check(sql, args)
	return e.lookup.Places(sql, args...)
}

func (e explained) Tally(sql string, args ...any) (scanned, matched int64, err error) {
	e.check(sql, args)
	return e.lookup.Tally(sql, args...)
}

// check checks that no table is read from end to end, except in the order of lists up to a limit. The result of an inner statement,
// which the plan names like a table, has the limit.
func (e explained) check(sql string, args []any) {
	inner, scans := 0, 0
	err := e.conn.each(e.ctx, "EXPLAIN QUERY PLAN "+sql, func(r *row) error {
		step := r.text(3)
		switch {
		case strings.HasPrefix(step, "CO-ROUTINE"):
			inner++
		case step == "SCAN i", step == "SCAN d", step == "SCAN m", step == "SCAN p":
			scans++
		case step == "SCAN i USING INDEX perdure_instance_created" && strings.Contains(sql, " LIMIT "):
		case step == "SCAN i USING INDEX perdure_instance_blocked":
		case step == "SCAN x USING INDEX perdure_task_retrying" && strings.Contains(sql, " LIMIT "):
		case step == "SCAN k", strings.HasPrefix(step, "SCAN k USING COVERING INDEX"), step == "SCAN s", step == "SCAN CONSTANT ROW": // kinds are few
		case strings.HasPrefix(step, "SCAN"), strings.Contains(step, "TEMP B-TREE") && !strings.Contains(sql, "CROSS JOIN perdure_instance"):
			e.t.Errorf("%s: %s: %s", e.f.Name, step, sql)
		}
		return nil
	}, args...)
	e.conn.evict("EXPLAIN QUERY PLAN " + sql)
	if err != nil || scans > inner {
		e.t.Errorf("%s: reads a table from end to end (%v): %s", e.f.Name, err, sql)
	}
}

func TestHazard89_PlansOfLists(t *testing.T) {
	const all = 24_000
	p := filled(t, all)
	for _, f := range listing.Filters(all) {
		err := p.reader.readSnapshot(t.Context(), "list", func(c *conn) error {
			checked := explained{lookup{t.Context(), c}, t, &f}
			_, cursor, err := dialect.Find(checked, &provider.ListRequest{Filter: f.Asked, Max: 10})
			if err == nil && cursor != "" {
				_, _, err = dialect.Find(checked, &provider.ListRequest{Filter: f.Asked, Max: 10, Cursor: cursor})
			}
			if err == nil {
				_, err = dialect.Count(checked, &provider.CountRequest{Filter: f.Asked, Max: 10})
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// TestHazard89_RunningAmongMany checks that the figures of running instances are found by index.
func TestHazard89_RunningAmongMany(t *testing.T) {
	const all = 24_000
	p := filled(t, all)
	for _, most := range []int64{0, 5} {
		listing.CheckRunning(t, p, all, most)
	}
	err := p.reader.readSnapshot(t.Context(), "stats", func(c *conn) error {
		return c.each(t.Context(), "EXPLAIN QUERY PLAN "+sqlRunning, func(r *row) error {
			step := r.text(3)
			if strings.HasPrefix(step, "SCAN i") || strings.HasPrefix(step, "SEARCH i") && !strings.Contains(step, "perdure_instance_kind (kind=? AND status=?)") {
				t.Errorf("%s", step)
			}
			return nil
		}, int64(5))
	})
	if err != nil {
		t.Error(err)
	}
}

func BenchmarkLists(b *testing.B) { listing.Bench(b, filled(b, *listInstances), *listInstances) }
