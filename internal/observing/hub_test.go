package observing_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/observe"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type observerFunc func(observe.Event)

// none is an Observer that does nothing.
type none struct{}

// Observe implements observe.Observer.
func (*none) Observe(observe.Event) {}

// Observe implements observe.Observer.
func (f observerFunc) Observe(e observe.Event) { f(e) }

// Without an Observer a Hub is nil, and all of its methods do nothing.
func TestNoObserver(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]observe.Observer{"nil": nil, "a nil pointer": (*none)(nil)} {
		h := observing.New(o, nil)
		if h != nil {
			t.Fatalf("%s: there is a hub", name)
		}
		h.Report(observe.Event{Kind: observe.Turn})
		if h.On() || h.Traces() || h.Dropped() != 0 || !h.Flush(0) || h.Observer() != nil {
			t.Errorf("%s: the hub does something", name)
		}
	}
}

// Events come in order, each once.
func TestEventsComeInOrder(t *testing.T) {
	t.Parallel()
	var got []int64
	h := observing.New(observerFunc(func(e observe.Event) { got = append(got, e.Count) }), nil)
	const n = 5_000
	for i := range int64(n) {
		h.Report(observe.Event{Kind: observe.Turn, Count: i})
	}
	if !h.Flush(time.Minute) || len(got) != n {
		t.Fatalf("%d events, want %d", len(got), n)
	}
	for i, v := range got {
		if v != int64(i) {
			t.Fatalf("event %d is number %d", v, i)
		}
	}
}

// An Observer that does not return holds nobody up. Events for which it has no room are dropped and counted, and the log says so once.
func TestHazard90_SlowObserverIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		release, seen := make(chan struct{}), 0
		h := observing.New(observerFunc(func(observe.Event) { <-release; seen++ }), slog.New(slog.NewTextHandler(&log, nil)))
		h.Report(observe.Event{Kind: observe.Turn})
		time.Sleep(time.Second) //nolint:forbidigo // in a bubble: it hangs in the first one
		synctest.Wait()
		const more = 10_000
		for range more {
			h.Report(observe.Event{Kind: observe.Turn})
		}
		if got := h.Dropped(); got != more-8_192 {
			t.Errorf("%d events were dropped, want %d", got, more-8_192)
		}
		if h.Flush(time.Second) {
			t.Error("Flush says that the observer has all")
		}
		close(release)
		if !h.Flush(time.Second) || seen != 1+8_192 {
			t.Errorf("the observer got %d events, want %d", seen, 1+8_192)
		}
		if n := strings.Count(log.String(), "too slow"); n != 1 {
			t.Errorf("the log says so %d times:\n%s", n, &log)
		}
	})
}

// A panic of an Observer costs its event and no other.
func TestHazard90_ObserverPanics(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	seen := 0
	h := observing.New(observerFunc(func(e observe.Event) {
		if e.Count%2 == 0 {
			panic("boom")
		}
		seen++
	}), slog.New(slog.NewTextHandler(&log, nil)))
	for i := range int64(10) {
		h.Report(observe.Event{Kind: observe.Turn, Count: i})
	}
	if !h.Flush(time.Minute) || seen != 5 || h.Dropped() != 5 || strings.Count(log.String(), "boom") != 1 {
		t.Errorf("%d seen, %d dropped, log:\n%s", seen, h.Dropped(), &log)
	}
}

// Many goroutines may report at once.
func TestManyReport(t *testing.T) {
	t.Parallel()
	seen := 0
	h := observing.New(observerFunc(func(observe.Event) { seen++ }), nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				h.Report(observe.Event{Kind: observe.Turn})
			}
		})
	}
	all.Wait()
	if !h.Flush(time.Minute) || int64(seen)+h.Dropped() != 4_000 {
		t.Errorf("%d seen, %d dropped", seen, h.Dropped())
	}
}

// BenchmarkTell measures what a report costs, with an Observer that does nothing.
func BenchmarkTell(b *testing.B) {
	for name, o := range map[string]observe.Observer{"none": nil, "set": observerFunc(func(observe.Event) {})} {
		b.Run(name, func(b *testing.B) {
			h := observing.New(o, slog.New(slog.DiscardHandler))
			e := observe.Event{Kind: observe.Turn, At: time.Now(), Orchestration: "main"}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if h.Report(e); n%4_096 == 0 {
					h.Flush(time.Minute)
				}
			}
			if h.Flush(time.Minute); h.Dropped() > 0 {
				b.Errorf("%d events were dropped", h.Dropped())
			}
		})
	}
}
