package figures_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// backlog draws what is known of the backlog: "-" nothing, "?" a part, "0" nothing waits, "1" something.
func backlog(points []figures.Point) string {
	var b strings.Builder
	for i := range points {
		switch p := &points[i]; {
		case p.Looked == figures.None:
			b.WriteByte('-')
		case p.Looked == figures.Part:
			b.WriteByte('?')
		case p.Backlog == 0:
			b.WriteByte('0')
		default:
			b.WriteByte('1')
		}
	}
	return b.String()
}

// A time in which no node could look at the queues is not known, which is no empty queue. What was seen at its ends is a lower bound.
func TestHazard157_AFailedLookIsNoEmptyQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		oldest := provider.TimeOf(time.Now().Add(-time.Minute))
		f.wait(provider.WaitingTasks{Queue: "q", Name: "x", Count: 7, Oldest: oldest})
		wait(4*time.Minute + 29*time.Second)
		f.shut.Store(true)
		wait(3 * time.Minute)
		f.wait()
		if m := f.read(figures.Hour); m.Looked {
			t.Error("what waits at the end counts as known although nobody could look")
		}
		f.shut.Store(false)
		wait(4 * time.Minute)
		for w, want := range []string{"1111?--?000", "?0", "?"} {
			m := f.read(figures.Window(w))
			points := m.Points[len(m.Points)-len(want):]
			if got := backlog(points); w == 0 && got != want || w > 0 && got[0] != '?' {
				t.Errorf("window %d: %s, want %s: %+v", w, got, want, points)
			}
		}
		m := f.read(figures.Hour)
		if q := m.Queues["q"]; !m.Looked || q.Peak != 7 || q.Waiting != 0 {
			t.Errorf("at the end: looked %v, %+v", m.Looked, q)
		}
		a.shutDown()
	})
}

// The backlog of a time is known as long as one of the nodes looked, and no longer: not after the one was killed, and before the next begins. While
// nothing waits nothing is written for that.
func TestHazard157_TheBacklogIsUnknownWhereNobodyLooked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3*time.Hour)
		a := f.start("a")
		b := f.start("b") // it counts, and does not look as long as a is there
		wait(5*time.Minute + 5*time.Second)
		if puts := f.puts.Load(); puts != 0 {
			t.Errorf("to look at empty queues has written %d times", puts)
		}
		a.kill()
		wait(6 * time.Minute) // a counts as lost after three minutes
		b.shutDown()
		wait(2 * time.Minute)
		c := f.start("c")
		wait(4*time.Minute + time.Second)
		m := f.read(figures.Hour)
		points := m.Points[len(m.Points)-17:]
		if got, want := backlog(points), "00000?-?000?-?000"; got != want {
			t.Errorf("the backlog is %s, want %s", got, want)
		}
		c.shutDown()
	})
}

// A node that keeps no figures leaves the looks to one that does.
func TestHazard157_ANodeThatCountsLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		mute := f.startMute("a")
		b := f.start("b")
		f.wait(provider.WaitingTasks{Queue: "q", Name: "x", Count: 7, Oldest: provider.TimeOf(time.Now())})
		wait(10 * time.Minute)
		m := f.read(figures.Hour)
		if p := m.Points[len(m.Points)-2]; p.Looked != figures.All || p.Backlog != 7 {
			t.Errorf("beside a node that keeps no figures: %+v, want a backlog of 7", p)
		}
		b.shutDown()
		mute.shutDown()
	})
}

// A queue that empties between two writes is empty at the end, and does not stay as it was.
func TestAQueueEmptiesAfterAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		f.wait(provider.WaitingTasks{Queue: "q", Name: "x", Count: 7, Oldest: provider.TimeOf(time.Now())})
		wait(time.Minute) // and one second: it has written
		f.wait()
		wait(90 * time.Second)
		if m := f.read(figures.Hour); !m.Looked || m.Queues["q"].Waiting != 0 || m.Queues["q"].Peak != 7 {
			t.Errorf("looked %v, %+v", m.Looked, m.Queues["q"])
		}
		a.shutDown()
	})
}

// A time in which a node ran that keeps no figures is not wholly known, also when that node has ended or was killed, and when the one that has
// seen it is gone.
func TestHazard157_SilenceStaysAGap(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*node){"shut down": (*node).shutDown, "killed": (*node).kill} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0)
			begin := provider.TimeOf(time.Now())
			a := f.start("a")
			wait(3 * time.Minute)
			mute := f.startMute("mute")
			wait(3 * time.Minute)
			end(mute)
			wait(10 * time.Minute)
			again := f.startMute("again")
			wait(2 * time.Minute)
			end(again)
			a.run(1, observe.Completed)
			wait(5 * time.Minute)
			check := func(when string) {
				t.Helper()
				m := f.read(figures.Hour)
				got := shape(m)[begin.Sub(m.From)/time.Minute:]
				if got[1] != '0' || got[3:6] != "???" || got[11:14] != "000" || got[16:18] != "??" || got[22] != '0' {
					t.Errorf("%s, %s: minutes 3 to 5 and 16 to 17 had a silent node: %s", name, when, got)
				}
			}
			check("while the one runs that has seen it")
			a.shutDown()
			wait(time.Second)
			f.start("b").shutDown()
			check("after that")
		})
	}
}
