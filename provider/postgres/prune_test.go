package postgres

import (
	"testing"

	"github.com/perdure/perdure/provider"
)

// TestHazard87_PruneReadsWhatItRemoves counts what Prune reads beside many instances and many children, in a store that was never analyzed. It
// read 7,000 pages for 20 instances, and the links of all children for each.
func TestHazard87_PruneReadsWhatItRemoves(t *testing.T) {
	const all, some = 24_000, 20
	p := plansOnce(t)
	fill(t, p, all)
	if _, err := p.db.pool.Exec(t.Context(), p.db.names.inSchema(`UPDATE perdure.instance SET parent_key = '00000000-0000-0000-0000-000000000001'
		WHERE status < 3 AND parent_key IS NULL`)); err != nil {
		t.Fatal(err)
	}
	sum := func() (n int64) {
		for _, rows := range readRows(t, p) {
			n += rows
		}
		return n
	}
	before := sum()
	res, err := p.Prune(t.Context(), provider.PruneRequest{Max: some})
	if err != nil || res.Instances < some || res.Cursor == "" {
		t.Fatalf("%+v %v, want at least %d instances removed", res, err, some)
	}
	const each = 40 // rows in the indexes and tables of an instance, and those before it that could not go
	if read := sum() - before; read > some*each {
		t.Errorf("Prune read %d rows to remove %d instances, want at most %d", read, res.Instances, some*each)
	}
}
