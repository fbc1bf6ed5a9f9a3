package alarm

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// onEach runs a test on the alarm of New here, and on the coarse one.
func onEach(t *testing.T, test func(t *testing.T, with maker)) {
	t.Helper()
	for name, with := range map[string]maker{"here": New, "coarse": func(ring func()) Alarm { return newCoarse(ring) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, with)
		})
	}
}

type maker func(ring func()) Alarm

// far is a moment that no test comes to.
const far = time.Hour

// ringing makes an alarm that sends when it rings.
func ringing(t *testing.T, with maker) (Alarm, <-chan time.Time) {
	t.Helper()
	rung := make(chan time.Time, 100)
	a := with(func() { rung <- time.Now() })
	t.Cleanup(a.Stop)
	return a, rung
}

// awaitRing waits for a ring and returns how late it was.
func awaitRing(t *testing.T, rung <-chan time.Time, due time.Time) time.Duration {
	t.Helper()
	select {
	case at := <-rung:
		return at.Sub(due)
	case <-time.After(30 * time.Second):
		t.Fatal("it does not ring")
		return 0
	}
}

// It rings at the moment, never before, once for each, and again when it is set again.
func TestRings(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, with maker) {
		t.Helper()
		a, rung := ringing(t, with)
		for _, d := range []time.Duration{20 * time.Millisecond, time.Millisecond, 100 * time.Microsecond, 0, -time.Second} {
			due := time.Now().Add(max(d, 0))
			a.Set(d)
			if late := awaitRing(t, rung, due); late < 0 {
				t.Errorf("set to %v it rang %v early", d, -late)
			}
		}
		other, rungToo := ringing(t, with)
		other.Set(5 * time.Millisecond)
		awaitRing(t, rungToo, time.Now())
		if n := len(rung); n > 0 {
			t.Errorf("it rang %d times more than it was set", n)
		}
	})
}

// An earlier moment that is set later counts, and a later one replaces the first.
func TestMoves(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, with maker) {
		t.Helper()
		a, rung := ringing(t, with)
		a.Set(far)
		due := time.Now().Add(time.Millisecond)
		a.Set(time.Millisecond)
		if late := awaitRing(t, rung, due); late < 0 {
			t.Errorf("it rang %v early", -late)
		}
		a.Set(far)
		due = time.Now().Add(20 * time.Millisecond)
		a.Set(10 * time.Millisecond)
		a.Set(20 * time.Millisecond)
		if late := awaitRing(t, rung, due); late < 0 {
			t.Errorf("it rang for the moment before, %v early", -late)
		}
	})
}

// It may be set while it rings, and rings one after the other.
func TestSetsItself(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, with maker) {
		t.Helper()
		const times = 20
		var running, rings atomic.Int32
		done := make(chan struct{})
		var a Alarm
		ready := make(chan struct{})
		a = with(func() {
			<-ready
			if running.Add(1) != 1 {
				t.Error("it rings twice at once")
			}
			if rings.Add(1) == times {
				close(done)
			} else {
				a.Set(0)
				<-time.After(time.Millisecond) // enough time for a second ring
			}
			running.Add(-1)
		})
		close(ready)
		defer a.Stop()
		a.Set(0)
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("it rang %d times, not %d", rings.Load(), times)
		}
	})
}

// Stopping waits for a ring in progress, and nothing rings later; leaktest finds leftovers.
func TestStops(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, with maker) {
		t.Helper()
		begun, over := make(chan struct{}), make(chan struct{})
		a := with(func() {
			close(begun)
			<-over
		})
		a.Set(0)
		<-begun
		stopped := make(chan struct{})
		go func() {
			a.Stop()
			close(stopped)
		}()
		select {
		case <-stopped:
			t.Error("it has stopped and still rings")
		case <-time.After(20 * time.Millisecond): // enough for one that does not wait
		}
		close(over)
		<-stopped
		a.Set(0) // a second ring would panic
		with(func() { t.Error("nothing was set") }).Stop()
	})
}

// In a bubble time is virtual: an hour takes no time, and the moment is met exactly.
func TestVirtualTime(t *testing.T) {
	t.Parallel()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		a, rung := ringing(t, New)
		for range 3 {
			due := time.Now().Add(far)
			a.Set(far)
			if late := (<-rung).Sub(due); late != 0 {
				t.Errorf("it rang %v late", late)
			}
		}
		a.Set(far) // and is stopped before
	})
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
