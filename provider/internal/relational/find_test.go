package relational

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// slowLookup is a store in which each condition matches too many rows, and a statement takes long.
type slowLookup struct{ statements int }

func (l *slowLookup) Numbers(string, ...any) ([]int64, error) {
	l.statements++
	time.Sleep(12 * time.Millisecond) //nolint:forbidigo // in a synctest bubble
	return []int64{scanRows + 1}, nil
}

func (l *slowLookup) Places(string, ...any) ([]Position, error) {
	l.statements++
	return nil, nil
}

func (l *slowLookup) Tally(string, ...any) (scanned, matched int64, err error) { return 0, 0, nil }

// A list that has many conditions looks for the best one no longer than it scans.
func TestHazard162_ManyTermsTakeNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &Dialect{True: "1", Mark: func(int) string { return "?" }, UUID: func(u provider.UUID) any { return u }}
		var f provider.Filter
		for i := range 16 {
			f.Matches = append(f.Matches, provider.AttributeMatch{Name: strings.Repeat("a", i+1), Kind: provider.AttributeInt, From: &provider.AttributeValue{}})
		}
		l := &slowLookup{}
		if _, _, err := d.Find(l, &provider.ListRequest{Filter: f, Max: 10}); err != nil {
			t.Fatal(err)
		}
		if most := 3 + 2; l.statements > most {
			t.Errorf("%d statements, want at most %d", l.statements, most)
		}
	})
}
