package figures_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

var update = flag.Bool("update", false, "write the golden files")

// load stores the records of a file, each a line with the key and the value.
func (f *fleet) load(name string) {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		put := provider.RecordRequest{Action: provider.RecordPut, Namespace: "perdure/figures", Key: key, Value: []byte(value)}
		if _, err := f.store.Record(f.t.Context(), put); err != nil {
			f.t.Fatal(err)
		}
	}
}

// What this release stores is what its golden file has. Other releases read that, so a change of it must be one that they can read: see format.
func TestStoredRecordsStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.wait(provider.WaitingTasks{Queue: "mail", Count: 2, Oldest: provider.TimeOf(time.Now())})
		wait(3 * time.Second) // so that no look comes at the moment of a write
		a := f.start("this", provider.Capability{Name: "Order", CodeVersion: "1"})
		a.run(3, observe.Completed)
		a.run(1, observe.Failed)
		wait(12 * time.Minute)
		a.run(1, observe.Cancelled)
		a.shutDown()
		res, err := f.store.Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure/figures"})
		if err != nil {
			t.Fatal(err)
		}
		var stored bytes.Buffer
		for _, r := range res.Records {
			fmt.Fprintf(&stored, "%s %s\n", r.Key, r.Value)
		}
		path := filepath.Join("testdata", "this.records")
		if *update {
			if err := os.WriteFile(path, stored.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if golden, err := os.ReadFile(path); err != nil || !bytes.Equal(golden, stored.Bytes()) {
			t.Errorf("%v: the records are\n%swant\n%s", err, stored.Bytes(), golden)
		}
	})
}

// Records of older and of newer releases are read beside those of this one, and lose nothing by what it does not know. Those that say that it cannot
// read them are left out, and make no zero: what they are about is known in part. The others stay as they are.
func TestHazard157_ReleasesReadEachOther(t *testing.T) {
	t.Parallel()
	for _, files := range [][]string{{"this", "older"}, {"newer", "older"}, {"this", "older", "newer"}, {"this", "older", "newer", "unreadable"}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0)
			want, known, attempts, versions := figures.Counts{}, figures.All, int64(0), 0
			for _, name := range files {
				f.load(name + ".records")
				switch more := &want; name {
				case "this":
					more.Started, more.Completed, more.Failed, more.Retried = 5, 3, 1, 5
					attempts, versions = attempts+10, versions+1
				case "older":
					more.Started, more.Completed, more.Failed, more.Retried = more.Started+3, more.Completed+2, more.Failed+1, more.Retried+1
					attempts += 3
				case "newer":
					more.Started, more.Completed, more.Failed = more.Started+5, more.Completed+4, more.Failed+1
					attempts, versions = attempts+4, versions+1
				default:
					known = figures.Part
				}
			}
			wait(20 * time.Minute)
			for w := range figures.Week + 1 {
				m := f.read(w)
				if sum := total(m); sum != want || m.Failed["Order"] != want.Failed || m.Activities["charge"].Latency.Count() != attempts {
					t.Errorf("%v, window %d: %+v, failed %v, %d attempts; want %+v and %d attempts", files, w, sum, m.Failed, m.Activities["charge"].Latency.Count(), want, attempts)
				}
				if first := m.Points[provider.TimeOf(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Sub(m.From)/m.Slot]; w == figures.Hour && first.Known != known {
					t.Errorf("%v: the first minute is %+v, want it known so: %v", files, first, known)
				}
				if len(m.Versions) != versions {
					t.Errorf("%v, window %d: versions %v, want %d", files, w, m.Versions, versions)
				}
			}
		})
	}
}
