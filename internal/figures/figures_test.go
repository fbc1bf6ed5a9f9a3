package figures_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/internal/waiting"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// skewed is a storage clock that differs from that of the nodes.
type skewed struct{ by time.Duration }

func (s skewed) Now() time.Time { return time.Now().Add(s.by) }

func (s skewed) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// fleet has nodes that count, without what they run, in virtual time.
type fleet struct {
	t     *testing.T
	store *provider.Full
	clock skewed
	puts  atomic.Int64 // of figures
	calls atomic.Int64 // for figures
	keys  chan string  // of puts of figures; nil: nobody reads them
	down  atomic.Bool  // no call for figures is answered
	full  atomic.Bool  // no put of figures is carried out
	waits atomic.Pointer[[]provider.WaitingTasks]
	shut  atomic.Bool // what waits cannot be read

	mu    sync.Mutex
	sizes map[string][]int // of values put, by letter
}

// wait sets what waits in queues.
func (f *fleet) wait(tasks ...provider.WaitingTasks) { f.waits.Store(&tasks) }

// Stats implements provider.Meter.
func (f *fleet) Stats(context.Context, provider.StatsRequest) (res provider.StatsResult, err error) {
	if f.shut.Load() {
		return res, errors.New("what waits cannot be read")
	}
	if tasks := f.waits.Load(); tasks != nil {
		res.Tasks = *tasks
	}
	return res, nil
}

func newFleet(t *testing.T, skew time.Duration) *fleet {
	t.Helper()
	clock := skewed{skew}
	f := &fleet{t: t, clock: clock, sizes: map[string][]int{}, store: provider.FullOf(memory.New(memory.Options{Clock: clock}))}
	t.Cleanup(func() { _ = f.store.Close() })
	return f
}

// node is a node of a fleet.
type node struct {
	*figures.Counter

	fleet *fleet
	mute  bool // it keeps no figures
	dead  atomic.Bool
	fails atomic.Bool
	stop  context.CancelFunc
	over  chan struct{}
}

// Record implements provider.Keeper.
func (n *node) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	figures := req.Namespace == "perdure/figures"
	if figures {
		n.fleet.calls.Add(1)
	}
	if n.dead.Load() || n.fails.Load() || figures && n.fleet.down.Load() || figures && n.fleet.full.Load() && req.Action == provider.RecordPut {
		return provider.RecordResult{}, errors.New("the store does not answer")
	}
	if figures && req.Action == provider.RecordPut {
		n.fleet.puts.Add(1)
		n.fleet.mu.Lock()
		n.fleet.sizes[req.Key[:1]] = append(n.fleet.sizes[req.Key[:1]], len(req.Value))
		n.fleet.mu.Unlock()
		if n.fleet.keys != nil {
			n.fleet.keys <- req.Key
		}
	}
	return n.fleet.store.Record(ctx, req)
}

// Lease implements provider.Keeper.
func (n *node) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	return n.fleet.store.Lease(ctx, req)
}

// start starts a node, which writes its entry in the list of nodes every half a minute, and looks at what waits.
func (f *fleet) start(owner string, runs ...provider.Capability) *node {
	f.t.Helper()
	return f.begin(&node{Counter: figures.NewCounter(), fleet: f, over: make(chan struct{})}, owner, runs...)
}

// startMute starts a node that keeps no figures.
func (f *fleet) startMute(owner string) *node {
	f.t.Helper()
	return f.begin(&node{mute: true, fleet: f, over: make(chan struct{})}, owner)
}

func (f *fleet) begin(n *node, owner string, runs ...provider.Capability) *node {
	f.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	var w *figures.Writer
	if !n.mute {
		w = figures.NewWriter(n, n.Counter, owner, runs, func() provider.Time { return provider.TimeOf(f.clock.Now()) }, logger)
	}
	store := *f.store
	store.Keeper, store.Meter = n, f
	m, err := upgrade.Join(f.t.Context(), upgrade.New(&store, 1), owner, runs, logger, func(n *upgrade.Node) {
		n.Every = 60
		if w != nil {
			n.Counts = new(upgrade.Counts)
		}
	})
	if err != nil {
		f.t.Fatal(err)
	}
	m.OnDead(func(ctx context.Context, dead *upgrade.Node) error {
		return figures.NoteLost(ctx, f.store, dead)
	})
	ctx, stop := context.WithCancel(f.t.Context())
	n.stop = stop
	go func() {
		defer close(n.over)
		var all sync.WaitGroup
		defer all.Wait()
		if w != nil {
			all.Go(func() { w.Run(ctx) })
		}
		all.Go(func() { m.Run(ctx) })
		all.Go(func() { waiting.Watch(ctx, &store, owner, n.Counter, logger) })
		tick := time.NewTicker(30 * time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				_, _ = m.Report(ctx, func(n *upgrade.Node) {
					if w == nil {
						return
					}
					if counts := w.Counted(); counts != nil {
						n.Counts = counts
					}
				})
			}
		}
	}()
	f.t.Cleanup(n.shutDown)
	wait(time.Second)
	return n
}

func (n *node) shutDown() {
	n.stop()
	<-n.over
}

// kill ends a node that cannot write any more.
func (n *node) kill() {
	n.dead.Store(true)
	n.shutDown()
}

// run counts instances that start, run an activity that fails once, and end.
func (n *node) run(count int, outcome observe.Outcome) {
	for i := range count {
		key := provider.NewKey(fmt.Sprint(i))
		n.Started(&key, "Order")
		n.Attempt(&key, "charge", observe.Retried, time.Second)
		n.Attempt(&key, "charge", observe.Completed, 10*time.Millisecond)
		n.Ended(&key, "Order", outcome)
	}
}

func wait(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // virtual time
	synctest.Wait()
}

func (f *fleet) read(w figures.Window) *figures.Merged {
	f.t.Helper()
	nodes, now, err := upgrade.AllNodes(f.t.Context(), f.store)
	if err != nil {
		f.t.Fatal(err)
	}
	m, err := figures.Read(f.t.Context(), f.store, w, nodes, now)
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

// total adds up the points.
func total(m *figures.Merged) (c figures.Counts) {
	for i := range m.Points {
		p := &m.Points[i].Counts
		c.Started, c.Completed, c.Failed, c.Retried = c.Started+p.Started, c.Completed+p.Completed, c.Failed+p.Failed, c.Retried+p.Retried
	}
	return c
}

// shape draws what is known: "-" nothing, "?" a part, "0" no start, "1" some.
func shape(m *figures.Merged) string {
	var b strings.Builder
	for i := range m.Points {
		switch p := &m.Points[i]; {
		case p.Known == figures.None:
			b.WriteByte('-')
		case p.Known == figures.Part:
			b.WriteByte('?')
		case p.Counts.Started == 0:
			b.WriteByte('0')
		default:
			b.WriteByte('1')
		}
	}
	return b.String()
}

// A minute in which a node was killed is known in part, one without a node is unknown, and one in which nothing happened is zero. The clocks of
// nodes are three hours behind that of the storage, which counts.
func TestHazard157_AKilledNodeLeavesAGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3*time.Hour) // 2000-01-01 00:00 of a bubble
		a := f.start("a")
		b := f.start("b")
		a.run(3, observe.Completed)
		b.run(2, observe.Failed)
		wait(5*time.Minute + 29*time.Second) // both have counted for five minutes, and only in the first one
		a.run(1, observe.Completed)
		a.kill()
		wait(10 * time.Minute)
		b.run(1, observe.Completed)
		wait(time.Minute)
		b.kill()
		wait(10 * time.Minute)
		c := f.start("c")
		wait(5 * time.Minute)
		m := f.read(figures.Hour)
		at := m.From.Std()
		if hour := at.Hour(); hour != 2 {
			t.Errorf("the figures begin at %v, want in the hour before 03:00 of the storage", at)
		}
		begin := provider.TimeOf(time.Date(2000, 1, 1, 3, 0, 0, 0, time.UTC))
		skip := int(begin.Sub(m.From) / time.Minute)
		// Node a was killed in the sixth minute, and could have worked into the seventh; b in the seventeenth; c begins in the twenty-seventh.
		if got, want := shape(m), strings.Repeat("-", skip)+"10000??000000001?---------?0000"; got != want {
			t.Errorf("what is known:\n%s, want\n%s", got, want)
		}
		if sum := total(m); sum.Started != 6 || sum.Completed != 4 || sum.Failed != 2 || sum.Retried != 6 {
			t.Errorf("all points: %+v, want 6 starts, without the one of the last minute of the killed node", sum)
		}
		if last := m.Points[len(m.Points)-1]; last.Known != figures.All || last.Counts != (figures.Counts{}) {
			t.Errorf("an idle node that runs: %+v, want a known zero", last)
		}
		c.shutDown()
	})
}

// While nothing happens nothing is written. It is no gap, neither while the node runs nor after it was shut down.
func TestHazard157_IdleWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		wait(3 * time.Hour)
		if n := f.puts.Load(); n != 0 {
			t.Errorf("an idle node has written %d times", n)
		}
		if got := shape(f.read(figures.Hour)); strings.Trim(got, "0") != "" {
			t.Errorf("an idle hour is %s, want zeros", got)
		}
		a.run(1, observe.Completed)
		wait(time.Hour + 2*time.Minute)
		if n := f.puts.Load(); n != 3 {
			t.Errorf("one busy minute made %d writes, want one for each fineness", n)
		}
		a.shutDown()
		for w := range figures.Week + 1 {
			if m := f.read(w); total(m).Started != 1 || strings.Contains(strings.TrimLeft(shape(m), "-?"), "-") {
				t.Errorf("window %d after the end: %s with %d starts", w, shape(m), total(m).Started)
			}
		}
	})
}

// A node that the store did not hear for a while writes what it counted meanwhile. A restarted fleet still shows what others counted.
func TestHazard157_ARestartKeepsFigures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		a.fails.Store(true)
		for range 5 {
			a.run(1, observe.Completed)
			wait(time.Minute)
		}
		a.fails.Store(false)
		wait(2 * time.Minute)
		a.run(1, observe.Completed) // in its last minute
		a.shutDown()
		b := f.start("b")
		b.run(1, observe.Completed)
		wait(4 * time.Minute)
		for w := range figures.Week + 1 {
			if m := f.read(w); total(m).Started != 7 || m.Activities["charge"].Latency.Count() != 14 {
				t.Errorf("window %d: %d starts and %+v, want 7", w, total(m).Started, m.Activities["charge"])
			}
		}
		b.shutDown()
	})
}

// 300 names of activities and orchestrations become 200 and one for all others, and no count is lost.
func TestHazard157_NamesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		for _, owner := range []string{"a", "b"} {
			n := f.start(owner)
			for i := range 300 {
				key := provider.NewKey(fmt.Sprint(owner, i))
				name := fmt.Sprintf("%s-%03d", owner, i)
				n.Attempt(&key, name, observe.Completed, time.Millisecond)
				n.Ended(&key, name, observe.Failed)
				n.Waiting(provider.TimeOf(time.Now()), []provider.WaitingTasks{{Queue: name, Count: 1, Oldest: provider.TimeOf(time.Now())}})
			}
			n.shutDown()
		}
		res, err := f.store.Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure/figures", Max: 10})
		if err != nil || len(res.Records) != 8 { // three of each node, and its end
			t.Fatalf("%d records (%v), want 8", len(res.Records), err)
		}
		for _, r := range res.Records {
			var names struct {
				Failed     map[string]any `json:"failed"`
				Activities map[string]any `json:"activities"`
				Queues     map[string]any `json:"queues"`
			}
			if err := json.Unmarshal(r.Value, &names); err != nil || max(len(names.Failed), len(names.Activities), len(names.Queues)) > 201 {
				t.Errorf("record %s has %d, %d and %d names (%v)", r.Key, len(names.Failed), len(names.Activities), len(names.Queues), err)
			}
		}
		m := f.read(figures.Hour)
		sum, failed := int64(0), int64(0)
		for _, a := range m.Activities {
			sum += a.Completed
		}
		for _, n := range m.Failed {
			failed += n
		}
		if len(m.Activities) != 201 || len(m.Failed) != 201 || m.Activities[figures.Other] == nil || sum != 600 || failed != 600 || len(m.Queues) > 201 {
			t.Errorf("%d activities with %d, %d orchestrations with %d, %d queues; want 201 with 600, and at most 201 queues",
				len(m.Activities), sum, len(m.Failed), failed, len(m.Queues))
		}
	})
}

// Nodes remove records that are too old, also those of nodes that are gone.
func TestHazard157_OldRecordsAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		for range 30 {
			a.run(1, observe.Completed)
			wait(7 * time.Minute)
		}
		a.kill()
		b := f.start("b")
		for range 3 * 24 {
			b.run(1, observe.Completed)
			wait(time.Hour)
		}
		count := func() map[string]int {
			counts := map[string]int{}
			res, err := f.store.Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure/figures"})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.Records {
				counts[r.Key[:1]]++
			}
			return counts
		}
		if got := count(); got["m"] > 4 || got["t"] > 26 || got["h"] != 5 || got["n"] != 1 {
			t.Errorf("after three days: %v records", got)
		}
		wait(17 * 24 * time.Hour)
		b.run(1, observe.Completed)
		wait(62 * time.Minute)
		if got := count(); got["m"] != 1 || got["t"] != 1 || got["h"] != 1 || got["n"] != 0 {
			t.Errorf("after twenty days: %v records, want those of now", got)
		}
		b.shutDown()
	})
}

// A node whose record does not say that it counts makes nothing wholly known.
func TestHazard157_ANodeThatDoesNotCountIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		if m := f.read(figures.Hour); len(m.Silent) > 0 {
			t.Errorf("a node that has just begun counts as silent: %q", m.Silent)
		}
		_, err := upgrade.Join(t.Context(), upgrade.New(f.store, 1), "old", nil, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		wait(10 * time.Minute)
		if m := f.read(figures.Hour); strings.ContainsAny(shape(m), "01") || len(m.Silent) != 1 || m.Silent[0] != "old" {
			t.Errorf("beside an older release: %s, silent are %q", shape(m), m.Silent)
		}
		a.shutDown()
	})
}

// A code version is noted once, by the first node that has it.
func TestVersionsComeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.start("a", provider.Capability{Name: "Order", CodeVersion: "1"}, provider.Capability{Name: "Plain"})
		wait(10 * 24 * time.Hour)
		f.start("b", provider.Capability{Name: "Order", CodeVersion: "1"}, provider.Capability{Name: "Order", CodeVersion: "2"})
		m := f.read(figures.Hour)
		if len(m.Versions) != 1 || m.Versions[0].Version != "2" {
			t.Errorf("within the hour came %+v, want version 2", m.Versions)
		}
	})
}

// A new code version is noted although as many as are kept are there. It drops the ones noted longest ago, and none that its own node has.
func TestHazard157_TheOldestVersionsGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		runs := func(version string, n int) (all []provider.Capability) {
			for i := range n {
				all = append(all, provider.Capability{Name: fmt.Sprint("Order", i), CodeVersion: version})
			}
			return all
		}
		start := func(owner string, runs ...provider.Capability) {
			f.start(owner, runs...).shutDown()
			wait(time.Minute)
		}
		begin := provider.TimeOf(time.Now())
		start("a", runs("1", 900)...)
		start("b", runs("2", 100)...)
		start("c", append(runs("3", 5), runs("1", 895)...)...)
		names := map[string]int{}
		for _, v := range f.read(figures.Hour).Versions {
			if names[v.Version]++; v.At < begin {
				t.Errorf("%+v came before the first node", v)
			}
		}
		if len(names) != 3 || names["1"] != 895 || names["2"] != 100 || names["3"] != 5 {
			t.Errorf("versions kept, by their number: %v, want 5 new ones in place of the 5 that the last node does not have and that are oldest", names)
		}
	})
}

// A version that a node has which runs is not dropped, however long ago it was noted, and whether the list of nodes names it or not. Else it would
// come a second time when the node starts again.
func TestHazard157_VersionsThatRunStay(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]int{"listed": 150, "not all listed": 400} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0)
			runs := func(version string, n int) (all []provider.Capability) {
				for i := range n {
					all = append(all, provider.Capability{Name: fmt.Sprint("Order", i), CodeVersion: version})
				}
				return all
			}
			a := f.start("a", runs("1", own)...)
			wait(time.Minute)
			f.start("b", runs("2", 1_000-own)...).shutDown()
			wait(time.Minute)
			f.start("c", runs("3", 100)...).shutDown()
			wait(time.Minute)
			a.shutDown()
			wait(2 * time.Hour)
			f.start("a again", runs("1", own)...).shutDown()
			names := map[string]int{}
			for _, v := range f.read(figures.Day).Versions {
				if names[v.Version]++; v.Version == "1" && provider.TimeOf(time.Now()).Sub(v.At) < 2*time.Hour {
					t.Fatalf("%s: %+v came a second time", name, v)
				}
			}
			if names["1"] != own || names["3"] != 100 {
				t.Errorf("%s: versions kept, by their number: %v, want all of 1 and 3", name, names)
			}
			if name == "listed" && names["2"] != 1_000-own-100 {
				t.Errorf("%s: versions kept, by their number: %v, want 100 fewer of 2, which no node has", name, names)
			}
		})
	}
}
