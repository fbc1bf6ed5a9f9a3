package listing

import (
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	// page is the size of the pages that are checked.
	page = 50
	// looked is how many rows a store looks at if they come quickly.
	looked = 5_000
	// slow is how long a call has taken that may have looked at fewer rows, because they did not come quickly: half of its time for the first.
	slow = 15 * time.Millisecond
)

// Check lists and counts by all filters. read returns how many rows the store has read so far; nil: unknown.
func Check(t *testing.T, p provider.Lister, all int64, read func() int64) {
	t.Helper()
	rows := Rows(all)
	for _, f := range Filters(all) {
		want := f.find(rows)
		before := int64(0)
		if read != nil {
			before = read()
		}
		began := time.Now()
		res := list(t, p, &f, "")
		hurried := time.Since(began) >= slow
		if read != nil {
			checkCost(t, &f, len(want), read()-before)
		}
		checkPages(t, p, &f, &res, want, hurried)
		checkCounts(t, p, &f, int64(len(want)))
	}
}

// CheckCounts counts by the filters of which a condition matches more rows than a count looks at, in a store of 50,000 instances.
func CheckCounts(t *testing.T, p provider.Lister, all int64) {
	t.Helper()
	rows, large := Rows(all), 0
	for _, f := range Filters(all) {
		if want := f.find(rows); len(want) > counted {
			large++
			checkCounts(t, p, &f, int64(len(want)))
		}
	}
	if large < 5 {
		t.Errorf("only %d filters match so many", large)
	}
}

func list(tb testing.TB, p provider.Lister, f *Filter, cursor string) provider.ListResult {
	tb.Helper()
	res, err := p.List(tb.Context(), provider.ListRequest{Filter: f.Asked, Max: page, Cursor: cursor})
	if err != nil {
		tb.Fatalf("%s: %v", f.Name, err)
	}
	return res
}

// checkCost checks how many rows a page reads. Each is read from an index and from a table, and few other tables have more.
func checkCost(t *testing.T, f *Filter, matches int, read int64) {
	t.Helper()
	const overhead = 500
	most := int64(10*min(matches, page) + overhead)
	if f.Counted {
		most += looked
	}
	if f.Behind {
		most += looked
	}
	if f.Short { // it looks at rows and their attributes, and then for the last one
		most += 3 * looked
	}
	if read > most {
		t.Errorf("%s: a page reads %d rows, want at most %d", f.Name, read, most)
	}
}

// checkPages checks the first pages, all if there are few matches. hurried reports that the first one may be short because it was slow.
func checkPages(t *testing.T, p provider.Lister, f *Filter, res *provider.ListResult, want []Row, hurried bool) {
	t.Helper()
	const pages = 4
	seen, short := 0, false
	for n := 1; ; n++ {
		for i := range res.Instances {
			in := &res.Instances[i]
			if seen == len(want) || in.Key != want[seen].Key {
				t.Fatalf("%s: row %d is %s, which is not next", f.Name, seen, in.ID)
			}
			seen++
		}
		switch {
		case res.Cursor == "" && seen < len(want):
			t.Fatalf("%s: found %d rows, want %d", f.Name, seen, len(want))
		case res.Cursor == "" || seen >= pages*page:
			if short != f.Short && (!short || !hurried) {
				t.Errorf("%s: there are short pages: %v", f.Name, short)
			}
			return
		}
		short = short || len(res.Instances) < page
		began := time.Now()
		*res = list(t, p, f, res.Cursor)
		hurried = hurried || time.Since(began) >= slow
	}
}

// counted is how many rows a store looks at for a count with a maximum, or twice the maximum if that is more. Callers of Check have few more
// instances, so that each count is exact up to its maximum.
const counted = 20_000

// checkCounts checks that counts are exact up to their maximum, and the same each time: they do not depend on how busy the machine is. A store
// stops early only where the first thousand rows have taken as long as from a slow disk.
func checkCounts(t *testing.T, p provider.Lister, f *Filter, want int64) {
	t.Helper()
	const disk = 250 * time.Millisecond
	for _, most := range []int64{0, 10, provider.MinRows, counted / 2} {
		for range 3 {
			began := time.Now()
			res, err := p.Count(t.Context(), provider.CountRequest{Filter: f.Asked, Max: most})
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			exact := provider.CountResult{Count: want, Exact: true}
			if most > 0 && want > most {
				exact = provider.CountResult{Count: most}
			}
			early := time.Since(began) >= disk && !res.Exact && res.Count <= exact.Count
			if res != exact && !early {
				t.Errorf("%s: a count with Max %d says %+v, want %+v", f.Name, most, res, exact)
			}
		}
	}
}

// Bench measures the first page, the second page and the count by each filter.
func Bench(b *testing.B, p provider.Lister, all int64) {
	b.Helper()
	for _, f := range Filters(all) {
		b.Run(f.Name, func(b *testing.B) {
			second := list(b, p, &f, "").Cursor
			for what, call := range map[string]func(){
				"list": func() { list(b, p, &f, "") },
				"next": func() { list(b, p, &f, second) },
				"count": func() {
					if _, err := p.Count(b.Context(), provider.CountRequest{Filter: f.Asked, Max: counted / 2}); err != nil {
						b.Fatal(err)
					}
				},
			} {
				b.Run(what, func(b *testing.B) {
					for b.Loop() {
						call()
					}
				})
			}
		})
	}
}
