package postgres

import (
	"flag"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/listing"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

var listInstances = flag.Int64("lists.instances", 24_000, "how many instances BenchmarkLists makes")

// fill makes many instances.
func fill(tb testing.TB, p *Provider, all int64) {
	tb.Helper()
	d := listing.Dialect{
		Table: "perdure.", Key: "lpad(to_hex(N), 32, '0')::uuid", Override: "OVERRIDING SYSTEM VALUE", True: "true", No: "false",
		Recursive: "WITH numbers AS (SELECT n FROM generate_series(0, TOTAL::bigint - 1) n)",
	}
	for _, sql := range append(d.Fill(all), "VACUUM ANALYZE perdure.instance", "VACUUM ANALYZE perdure.attribute") {
		if _, err := p.db.pool.Exec(tb.Context(), p.db.names.here(sql)); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestHazard89_ListsAmongMany counts what pages read.
func TestHazard89_ListsAmongMany(t *testing.T) {
	longtest.Skip(t)
	const all = 24_000
	p := plansOnce(t)
	fill(t, p, all)
	listing.Check(t, p, all, func() (sum int64) {
		for name, rows := range readRows(t, p) {
			if !strings.HasPrefix(name, "kind") { // the look-up of each kind and status
				sum += rows
			}
		}
		return sum
	})
}

// A count is exact up to its maximum, also where no condition has few rows.
func TestHazard89_CountsAmongMany(t *testing.T) {
	longtest.Skip(t)
	const all = 50_000
	p := store(t)
	fill(t, p, all)
	listing.CheckCounts(t, p, all)
}

// TestHazard89_RunningAmongMany counts what the figures of running instances read: for each kind and status up to a limit, and the oldest one.
func TestHazard89_RunningAmongMany(t *testing.T) {
	longtest.Skip(t)
	const all = 24_000
	p := plansOnce(t)
	fill(t, p, all)
	before := readRows(t, p)
	for most, rows := range map[int64]int64{5: 31 * 2 * (5 + 2), 0: 31*2*2 + all/50} {
		listing.CheckRunning(t, p, all, most)
		sum := int64(0)
		after := readRows(t, p)
		for name, n := range after {
			if !strings.HasPrefix(name, "kind") {
				sum += n - before[name]
			}
		}
		if before = after; sum > rows {
			t.Errorf("up to %d: the figures read %d rows, want at most %d", most, sum, rows)
		}
	}
}

func BenchmarkLists(b *testing.B) {
	url := postgrestest.URL(b)
	p, err := OpenWith(b.Context(), url, Options{Schema: postgrestest.Schema(b, url), Timeout: provider.MaxWait})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Close(); err != nil {
			b.Error(err)
		}
	})
	fill(b, p, *listInstances)
	listing.Bench(b, p, *listInstances)
}
