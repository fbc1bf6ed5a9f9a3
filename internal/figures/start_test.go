package figures_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// The start of a node reads once. It writes the code versions that no node had, in one order whatever the order in which it was given them.
func TestHazard157_AStartWritesNewVersionsOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.start("a", provider.Capability{Name: "Plain"}).shutDown()
		if calls, puts := f.calls.Load(), f.puts.Load(); calls != 1 || puts != 0 {
			t.Errorf("a node without code versions made %d calls, %d of them writes, want 1 read", calls, puts)
		}
		runs := make([]provider.Capability, 0, 10)
		for i := range 10 {
			runs = append(runs, provider.Capability{Name: fmt.Sprint("Order", i), CodeVersion: "1"})
		}
		first := f.putsOfStart("b", runs...)
		if len(first) != len(runs) {
			t.Errorf("the first node wrote %d versions, want %d", len(first), len(runs))
		}
		if again := f.putsOfStart("c", runs...); len(again) != 0 {
			t.Errorf("the second node wrote %q again", again)
		}
		for i, j := 0, len(runs)-1; i < j; i, j = i+1, j-1 {
			runs[i], runs[j] = runs[j], runs[i]
		}
		other := newFleet(t, 0)
		if turned := other.putsOfStart("d", runs...); strings.Join(turned, " ") != strings.Join(first, " ") {
			t.Errorf("versions in another order are written as\n%q, want\n%q", turned, first)
		}
	})
}

// putsOfStart starts and ends a node. It returns the keys that it wrote.
func (f *fleet) putsOfStart(owner string, runs ...provider.Capability) (keys []string) {
	f.t.Helper()
	f.keys = make(chan string, 100)
	f.start(owner, runs...).shutDown()
	close(f.keys)
	for key := range f.keys {
		keys = append(keys, key)
	}
	f.keys = nil
	return keys
}

// A store that does not answer is asked ever more seldom. One that takes no write of a version still has all counts, and gets the version later.
func TestHazard157_AStartWithoutAStoreIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.down.Store(true)
		a := f.start("a", provider.Capability{Name: "Order", CodeVersion: "1"})
		a.run(1, observe.Completed)
		wait(time.Hour)
		if calls := f.calls.Load(); calls < 60 || calls > 70 {
			t.Errorf("%d calls in an hour without an answer, want about one a minute", calls)
		}
		f.full.Store(true)
		f.down.Store(false)
		wait(2 * time.Minute)
		a.run(1, observe.Completed)
		wait(2 * time.Minute)
		f.full.Store(false)
		wait(3 * time.Minute)
		m := f.read(figures.Day)
		if total(m).Started != 2 || len(m.Versions) != 1 {
			t.Errorf("%d starts and versions %v, want 2 and one", total(m).Started, m.Versions)
		}
		a.shutDown()
	})
}

// A record with as many names as are kept is far below what a store takes as long as names are of usual length. Names as long as a store takes
// them, of which JSON makes six times as much, do not make it longer. No count is lost.
func TestHazard157_ARecordFitsTheStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   string
		prefix string
		names  int // that a record has at least
	}{
		{"usual names", strings.Repeat("n", 50), figures.MaxNames},
		{"longest names", strings.Repeat("\x01", provider.MaxName-5), 12},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0)
			a := f.start("a")
			const minutes, names, took = 3, 250, 40
			for minute := range minutes {
				for i := range names {
					name := fmt.Sprintf("%s%d-%03d", c.prefix, minute, i)
					key := provider.NewKey(fmt.Sprint(i))
					for octave := range took {
						a.Attempt(&key, name, observe.Completed, time.Microsecond<<octave)
					}
					a.Ended(&key, name, observe.Failed)
					a.Waiting(provider.TimeOf(time.Now()), []provider.WaitingTasks{{Queue: name, Count: 1, Oldest: provider.TimeOf(time.Now())}})
				}
				wait(time.Minute)
			}
			wait(time.Hour)
			res, err := f.store.Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure/figures"})
			if err != nil || len(res.Records) != 3 {
				t.Fatalf("%s: %d records (%v), want 3", c.kind, len(res.Records), err)
			}
			for _, r := range res.Records {
				failed, attempts, kept := countsOf(t, &r)
				if len(r.Value) > provider.MaxPayload/4 || kept < c.names || failed != minutes*names || attempts != minutes*names*took {
					t.Errorf("%s: record %s has %d bytes, %d names, %d ends and %d attempts", c.kind, r.Key, len(r.Value), kept, failed, attempts)
				}
			}
			a.shutDown()
		})
	}
}

// countsOf adds up what a record says.
func countsOf(t *testing.T, r *provider.Record) (failed, attempts int64, names int) {
	t.Helper()
	var rec struct {
		Failed     map[string]int64 `json:"failed"`
		Activities map[string]struct {
			Latency map[string]int64 `json:"latency"`
		} `json:"activities"`
	}
	if err := json.Unmarshal(r.Value, &rec); err != nil {
		t.Fatal(err)
	}
	for _, n := range rec.Failed {
		failed += n
	}
	for _, a := range rec.Activities {
		for _, n := range a.Latency {
			attempts += n
		}
	}
	return failed, attempts, min(len(rec.Failed), len(rec.Activities))
}
