package sqlite

import (
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// clocks are a machine's clocks that a test sets, in microseconds.
type clocks struct{ wall, mono atomic.Int64 }

func (c *clocks) read() (int64, time.Duration) {
	return c.wall.Load(), time.Duration(c.mono.Load()) * time.Microsecond
}

// pass lets time pass and then moves the wall clock by a step.
func (c *clocks) pass(d, step time.Duration) {
	c.mono.Add(d.Microseconds())
	c.wall.Add((d + step).Microseconds())
}

const hour = 3_600_000_000

// A process that is stopped while it reads the clocks takes the pause for no step: the leases of other processes would seem over.
func TestPauseBetweenTwoClocksIsNoStep(t *testing.T) {
	var m clocks
	m.wall.Store(1000 * hour)
	c := &clock{read: m.read}
	var stop []time.Duration // before the next readings of the elapsed clock
	c.uptime = func() int64 {
		if len(stop) > 0 {
			m.pass(stop[0], 0)
			stop = stop[1:]
		}
		return m.mono.Load()
	}
	const skew = 1000 * hour
	for name, pauses := range map[string][]time.Duration{
		"none": nil, "before": {30 * time.Second}, "within": {0, 30 * time.Second}, "after the first": {0, 0, 0, 40 * time.Millisecond},
	} {
		stop = pauses
		if got := c.skew(); got != skew {
			t.Errorf("%s: the skew is off by %v", name, time.Duration(got-skew)*time.Microsecond)
		}
		if got := c.elapsed(); got > m.mono.Load() {
			t.Errorf("%s: elapsed is %v ahead", name, time.Duration(got-m.mono.Load())*time.Microsecond)
		}
	}
	m.pass(0, time.Hour)
	stop = []time.Duration{0, time.Second}
	if got := c.skew(); got != skew+hour {
		t.Errorf("after a step of an hour the skew is off by %v", time.Duration(got-skew-hour)*time.Microsecond)
	}
	stop = slices.Repeat([]time.Duration{2 * time.Millisecond, 3 * time.Millisecond}, 2*readings)
	m.pass(0, time.Hour)
	if got := c.skew(); got < skew+2*hour || got > skew+2*hour+10_000 {
		t.Errorf("without a quick reading the skew is off by %v", time.Duration(got-skew-2*hour)*time.Microsecond)
	}
}

func TestHazard25_StoreTimeDoesNotGoBack(t *testing.T) {
	var m clocks
	m.wall.Store(1000 * hour)
	c := &clock{read: m.read}
	want := func(what string, at int64) {
		t.Helper()
		if got := int64(c.wall()); got != at {
			t.Errorf("%s: %d us after the beginning, want %d", what, got-1000*hour, at-1000*hour)
		}
	}
	want("at first", 1000*hour)
	m.pass(time.Hour, 0)
	want("after an hour", 1001*hour)
	m.pass(0, 10*time.Hour)
	want("set forward: believed", 1011*hour)
	m.pass(0, -10*time.Millisecond)
	want("a correction: believed", 1011*hour-10_000)
	m.pass(0, 10*time.Millisecond-2*time.Hour)
	want("set back by two hours: stands", 1011*hour-10_000)
	if !c.stepped() || c.stepped() {
		t.Error("a step is to be told once")
	}
	m.pass(16*time.Hour, 0)
	want("goes on, slower by a sixteenth", 1011*hour-10_000+15*hour)
	m.pass(0, -time.Hour)
	want("set back again", 1011*hour-10_000+15*hour)
	m.pass(48*time.Hour, 0)
	want("the wall clock has caught up", 1072*hour)
	m.pass(time.Hour, 0)
	want("and is followed again", 1073*hour)
}

// setClock makes the store read a wall clock that is off by some time.
func setClock(p *Provider, off time.Duration) {
	c := p.store.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = func() (int64, time.Duration) {
		now := time.Now()
		return now.Add(off).UnixMicro(), now.Sub(started)
	}
}

// A message that was stored before the wall clock was set back is visible. It still is after a process that knows only
// the wall clock has reopened the file.
func TestHazard25_SetBackClockHidesNoMessages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	quiet := Options{Logger: slog.New(slog.DiscardHandler)}
	p := openTest(t, path, quiet)
	create(t, p, "old", "x")
	setClock(p, time.Hour)
	one := create(t, p, "one", "x")
	two, err := p.Send(t.Context(), provider.SendRequest{ID: "old", Message: provider.NewMessage{Payload: payload}})
	if err != nil {
		t.Fatal(err)
	}
	setClock(p, 0)
	req := fetchOf("x", newToken(), 0)
	res, err := p.FetchTurns(t.Context(), req)
	if err != nil || len(res.Turns) != 2 || res.Now < two.Now || len(res.Turns[0].Messages) != 2 {
		t.Fatalf("fetched %+v, %v: messages wait for the clock", res, err)
	}
	if res.Now > two.Now.Add(time.Minute) {
		t.Errorf("the store's time is %v ahead of what it was", time.Duration(res.Now-two.Now)*time.Microsecond)
	}
	await(t, "the step to be stored", func() bool {
		p.store.writer.queue.Wake()
		saved := int64(0)
		err := p.read(t.Context(), "test", func(c *conn) (err error) {
			saved, err = c.integer(t.Context(), `SELECT count(*) FROM perdure_meta WHERE name = 'time'`)
			return err
		})
		return err == nil && saved == 1
	})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = openTest(t, path, quiet)
	if at := p.store.clock.wall(); at < two.Now || at < one.CreatedAt {
		t.Errorf("opened anew, the store's time is %v before what it has stored", time.Duration(two.Now-at)*time.Microsecond)
	}
}

// A process that dies before it stores the step has at least stored instances.
func TestHazard25_TimeBeginsAtTheNewestInstance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	setClock(p, time.Hour)
	one := create(t, p, "one", "x")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p = openTest(t, path, Options{})
	if at := p.store.clock.wall(); at < one.CreatedAt-maxDrift {
		t.Errorf("opened anew, the store's time is %v before its newest instance", time.Duration(one.CreatedAt-at)*time.Microsecond)
	}
}
