package figures_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// A busy node writes its record by the minute each minute, the one by ten minutes every ten minutes, and the one by the hour each hour. All windows
// show all that was counted at any time, and nothing twice.
func TestHazard157_CoarseRecordsAreWrittenSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		const minutes, names = 125, 200
		for minute := range minutes {
			for i := range names {
				key := provider.NewKey(fmt.Sprint(i))
				for octave := range 8 { // so many latencies are usual
					a.Attempt(&key, fmt.Sprintf("an activity of usual length %d", i), observe.Completed, time.Millisecond<<octave)
				}
			}
			key := provider.NewKey("x")
			a.Started(&key, "Order")
			wait(time.Minute)
			if minute%7 != 0 {
				continue
			}
			for w := range figures.Week + 1 {
				if m := f.read(w); w > figures.Hour || minute < 60 {
					if got, n := total(m).Started, m.Activities["an activity of usual length 7"].Completed; got != int64(minute+1) || n != 8*got {
						t.Fatalf("window %d in minute %d: %d starts and %d attempts, want %d and 8 times as many", w, minute, got, n, minute+1)
					}
				}
			}
		}
		f.mu.Lock()
		bytes := 0
		for _, sizes := range f.sizes {
			for _, n := range sizes {
				bytes += n
			}
		}
		most := slices.Max(f.sizes["m"])
		if n := f.sizes; len(n["m"]) != minutes || len(n["t"]) != 12 || len(n["h"]) != 2 || bytes > minutes*most*6/5 {
			t.Errorf("in %d minutes: %d, %d and %d writes, %d bytes a minute; the finest record has %d", minutes, len(n["m"]), len(n["t"]), len(n["h"]), bytes/minutes, most)
		}
		t.Logf("%d bytes a minute; the finest record has %d bytes", bytes/minutes, most)
		f.mu.Unlock()
		a.shutDown()
	})
}

// What a killed node has not written by ten minutes and by the hour comes from its records by the minute. Once these are gone it is a gap, beside
// other nodes, too. A node that is shut down leaves none.
func TestHazard157_ACrashLeavesTheFinerRecordOrAGap(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*node){"killed": (*node).kill, "shut down": (*node).shutDown} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0)
			begin := provider.TimeOf(time.Now())
			b := f.start("b")
			a := f.start("a")
			for range 65 {
				a.run(1, observe.Completed)
				wait(time.Minute)
			}
			wait(5*time.Minute + 45*time.Second) // until its ten minutes are over, and it has said so, but has not written them
			end(a)
			wait(4 * time.Minute)
			for w := range figures.Week + 1 {
				if got := total(f.read(w)).Started; w > figures.Hour && got != 65 {
					t.Errorf("%s, window %d soon after: %d starts, want 65", name, w, got)
				}
			}
			wait(6 * time.Hour)
			killed := name == "killed"
			for w, at := range map[figures.Window]int{figures.Day: 6, figures.Week: 1} {
				m := f.read(w)
				points := m.Points[begin.Sub(m.From)/m.Slot:]
				if p, want := points[at], figures.All; p.Known == want == killed {
					t.Errorf("%s, window %d hours after: %+v", name, w, p)
				}
				if p := points[at-1]; w == figures.Day && (p.Known != figures.All || p.Counts.Started != 10) {
					t.Errorf("%s, the ten minutes before: %+v", name, p)
				}
				if last := points[len(points)-1]; last.Known != figures.All {
					t.Errorf("%s, window %d, the end: %+v", name, w, last)
				}
				if got := total(m).Started; !killed && got != 65 || killed && got > 65 {
					t.Errorf("%s, window %d: %d starts of 65", name, w, got)
				}
			}
			b.shutDown()
		})
	}
}

// A killed node was lost when it was last heard of, whatever is left of its records later.
func TestHazard157_AKilledNodeIsLostAtOneTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		b := f.start("b")
		a := f.start("a")
		for range 50 {
			a.run(1, observe.Completed)
			wait(time.Minute)
		}
		a.kill()
		wait(time.Minute)
		lost := func(w figures.Window) (at provider.Time) {
			t.Helper()
			for _, s := range f.read(w).Spans {
				if s.Owner == "a" {
					at = max(at, s.Seen)
				}
			}
			return at
		}
		want := provider.TimeOf(time.Now().Add(-2 * time.Minute))
		for _, later := range []time.Duration{0, 20 * time.Minute, 2 * time.Hour, 6 * time.Hour} {
			wait(later)
			for w := range figures.Week + 1 {
				if at := lost(w); (at < want || at.Sub(want) > time.Minute) && (w > figures.Hour || later < time.Hour) {
					t.Errorf("window %d, %v later: lost at %v, want about %v", w, later, at.Std(), want.Std())
				}
			}
		}
		b.shutDown()
	})
}

// counted counts the records of a letter that are read.
type counted struct {
	provider.Keeper

	letter string
	n      int
}

func (c *counted) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	res, err := c.Keeper.Record(ctx, req)
	if strings.HasPrefix(req.Prefix, c.letter+"/") {
		c.n += len(res.Records)
	}
	return res, err
}

// Of the finest records a day and a week read only those of the time since the last coarse one, and of the last minutes of nodes that were killed.
// They have all that was counted, also beside a node that was shut down while the store failed.
func TestHazard157_OnlyWhatIsNotFoldedIsRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		var nodes []*node
		for i := range 10 {
			nodes = append(nodes, f.start(fmt.Sprint("node-", i)))
		}
		starts, most := int64(0), map[figures.Window]int{figures.Day: 3 * 8, figures.Week: 7 * 8} // records of ten minutes
		for minute := range 110 {
			switch minute {
			case 5:
				nodes[0].kill() // before its hour is over
				nodes = nodes[1:]
			case 68: // its entry is removed, and nothing says until when it has counted
				f.full.Store(true)
				nodes[0].shutDown()
				nodes = nodes[1:]
				f.full.Store(false)
			}
			for _, n := range nodes {
				n.run(1, observe.Completed)
				starts++
			}
			wait(time.Minute)
			if minute%10 != 4 && minute%10 != 9 {
				continue
			}
			for w, most := range most {
				nodes, now, err := upgrade.AllNodes(t.Context(), f.store)
				if err != nil {
					t.Fatal(err)
				}
				store := &counted{Keeper: f.store, letter: "m"}
				m, err := figures.Read(t.Context(), store, w, nodes, now)
				if err != nil {
					t.Fatal(err)
				}
				if got := total(m).Started; got < starts-3 || got > starts { // what the two have not written is lost
					t.Errorf("window %d in minute %d: %d starts, want %d", w, minute, got, starts)
				}
				if killed := 3 * 10; store.n > most+killed && minute >= 60 {
					t.Errorf("window %d in minute %d: %d of the finest records were read, want at most %d", w, minute, store.n, most+killed)
				}
			}
		}
		for _, n := range nodes {
			n.shutDown()
		}
	})
}
