package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

const (
	// quantum is how much time passes at once. What the engine waits for at random, such as the pause before a repeat, is shorter. So
	// it always ends with the same quantum.
	quantum = time.Second
	// patience is how long, after the last fault, instances and clients may take to end.
	patience = 20 * time.Minute
	// manySteps bounds the steps between two quanta. More mean that something repeats without a pause.
	manySteps = 5_000
	lease     = 30 * time.Second
	// checkEvery is after how many quanta the store is checked while nodes work.
	checkEvery = 10
)

// sim is one run.
type sim struct {
	*world

	t        *testing.T
	workload Workload
	decider  decider
	gate     *gate
	clock    *clock
	store    *memory.Provider
	broken   provider.Provider // the store as all see it
	visiting atomic.Int64      // clients and operators that have not ended
	work     sync.WaitGroup
	over     atomic.Bool

	living    []*node // guarded by the world
	made      int
	lastFault time.Time
	steps     int
	ticks     int
	since     int // steps since time passed
	faults    map[string]int
}

// outcome is what a run has shown.
type result struct {
	wrong   []string
	trace   []string
	steps   int
	virtual time.Duration
	faults  map[string]int
	picks   map[int]Pick // that were drawn
}

// simulate makes one run. breaks decorates the store; nil: it is whole.
func simulate(t *testing.T, seed uint64, w Workload, d decider, breaks func(provider.Provider) provider.Provider) (res result) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed)
	synctest.Test(t, func(t *testing.T) {
		s := &sim{world: newWorld(), t: t, workload: w, decider: d, gate: newGate(), clock: &clock{ahead: seconds(w.Ahead)}, faults: make(map[string]int)}
		s.store = memory.New(memory.Options{Clock: s.clock})
		s.broken = s.store
		if breaks != nil {
			s.broken = breaks(s.store)
		}
		s.run(t.Context())
		res = result{wrong: s.wrong, trace: s.gate.lines(), steps: s.steps, virtual: time.Since(s.gate.began), faults: s.faults}
	})
	if drawn, ok := d.(*drawn); ok {
		res.picks = drawn.picks
	}
	return res
}

// run runs the workload to its end, and checks it.
func (s *sim) run(parent context.Context) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	stop := s.store.Notify(s.notice)
	s.later = func(effect, token string, value int) { s.complete(ctx, effect, token, value) }
	if !s.workload.Fresh {
		if _, _, err := upgrade.Finish(ctx, provider.FullOf(s.store), replay.EngineLevel, false); err != nil {
			s.wrongf("allowing the newest level: %v", err)
		}
	}
	for i := range s.workload.Nodes {
		s.startNode(ctx, i)
	}
	for i := range s.workload.Instances {
		s.visitAll(ctx, &s.workload.Instances[i])
	}
	s.lastFault = time.Now()
	s.drive(ctx)
	s.over.Store(true)
	if b, ok := s.broken.(*broken); ok {
		b.mended.Store(true) // nodes that nothing stops any more could repeat a turn for ever, and no time would pass
	}
	cancel()
	s.gate.openUp()
	stop()
	for _, n := range s.nodes() {
		n.end(parent)
	}
	s.work.Wait()
	if !s.failed() {
		s.check(parent)
	}
	if err := s.store.Close(); err != nil {
		s.wrongf("closing the store: %v", err)
	}
}

// visitAll begins what clients and operators do with an instance.
func (s *sim) visitAll(ctx context.Context, in *Instance) {
	begin := func(name string, do func(v *visitor)) {
		v, err := s.visitor(in, name)
		if err != nil {
			s.wrongf("client: %v", err)
			return
		}
		s.visiting.Add(1)
		s.work.Go(func() {
			defer s.visiting.Add(-1)
			do(v)
		})
	}
	for i := range in.Clients {
		begin(fmt.Sprint("c", i), func(v *visitor) { v.visit(ctx, i) })
	}
	if in.Act != "" {
		begin("op", func(v *visitor) { v.operate(ctx) })
	}
}

// drive lets one call after the other go on, until all has ended or something is wrong.
func (s *sim) drive(ctx context.Context) {
	for !s.failed() {
		synctest.Wait()
		s.gate.sort()
		calls := s.gate.ready()
		switch {
		case len(calls) == 0:
			if s.ended(ctx) {
				return
			}
			s.tick()
			if s.ticks++; s.ticks%checkEvery == 0 {
				s.inspect(ctx, invariant.Options{Patience: 1})
			}
			continue
		case s.since > manySteps:
			s.wrongf("%d calls and no time has passed; the last: %v", s.since, calls[0].label)
			return
		}
		p := s.decider.decide(s.steps, len(calls), len(s.gate.stopped()), len(s.workload.Nodes))
		s.steps++
		s.since++
		s.carryOut(ctx, p, calls)
	}
}

// ended reports whether all has ended.
func (s *sim) ended(ctx context.Context) bool {
	if s.visiting.Load() == 0 {
		res, err := provider.FullOf(s.store).Count(ctx, provider.CountRequest{Filter: provider.Filter{
			Statuses: []provider.Status{provider.StatusRunning, provider.StatusSuspended},
		}})
		if err != nil {
			s.wrongf("counting: %v", err)
		}
		if res.Count == 0 {
			return true
		}
	}
	if time.Since(s.lastFault) > patience {
		s.wrongf("not over %v after the last fault: %s", patience, s.unfinished(ctx))
		return true
	}
	return false
}

// tick lets time pass.
func (s *sim) tick() {
	time.Sleep(quantum) //nolint:forbidigo // virtual
	s.since = 0
	s.gate.changed()
}

// carryOut carries out a decision.
func (s *sim) carryOut(ctx context.Context, p Pick, calls []*call) {
	f := goOn
	switch p.Do {
	case pickKill, pickStop:
		s.replace(ctx, p)
		return
	case pickTick:
		s.fault(p)
		s.tick()
		return
	case pickClock:
		s.fault(p)
		s.clock.step(seconds(p.B))
		s.gate.changed()
		return
	case pickHold, pickIgnore:
		s.hold(p)
		return
	case pickFreeze:
		n := s.nodeAt(p.A % len(s.workload.Nodes))
		if s.sensitive(n.handle) {
			return
		}
		s.fault(p)
		s.gate.notef("%s: freezes for %d s", n.handle.name, p.B)
		s.gate.freeze(n.handle, seconds(p.B))
		return
	case pickFail:
		all := s.gate.stopped()
		if c := all[p.A%len(all)]; c.op != "run" && c.op != "notice" {
			s.fault(p)
			s.gate.notef("%s %s: fails", c.of.name, c.label)
			s.gate.send(c, failBefore)
			return
		}
	case pickLate:
		f = goLate
	case pickLose:
		f = failAfter
	}
	at := p.A % len(calls)
	if f != goOn && calls[at].op != "run" && calls[at].op != "notice" {
		s.fault(p)
	} else {
		f = goOn
	}
	s.goOn(calls[at:], f)
}

// goOn lets the first of the calls go on. Of those that wait for something it takes the first that has found it.
func (s *sim) goOn(calls []*call, f fate) {
	for _, c := range calls {
		if c.poll == nil || c.poll() {
			s.gate.send(c, f)
			return
		}
		s.gate.mu.Lock()
		c.looked = s.gate.state
		s.gate.mu.Unlock()
	}
}

// fault notes a fault.
func (s *sim) fault(p Pick) {
	s.faults[p.Do]++
	s.lastFault = time.Now()
}

// hold lets a call stay, or loses what would wake it.
func (s *sim) hold(p Pick) {
	all := s.gate.stopped()
	c := all[p.A%len(all)]
	if p.Do == pickIgnore && c.poll == nil || s.sensitive(c.of) {
		return
	}
	s.fault(p)
	s.gate.notef("%s %s: held", c.of.name, c.label)
	if c.op == "notice" {
		s.gate.send(c, failBefore)
		return
	}
	s.gate.mu.Lock()
	c.from = time.Now().Add(seconds(p.B))
	s.gate.mu.Unlock()
}

// sensitive reports whether a handle is that of a node that starts on a store that none has used. A node that cannot read the level for 30 s
// begins instances without it, and nobody raises it any more.
func (s *sim) sensitive(h *handle) bool {
	return s.workload.Fresh && slices.ContainsFunc(s.nodes(), func(n *node) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.handle == h && n.rt == nil
	})
}

// notice gives the notices of the store to the nodes.
func (s *sim) notice(n provider.Notice) {
	for _, node := range s.nodes() {
		node.handle.notice(n)
	}
}

// node is a node of one process.
type node struct {
	s      *sim
	place  int // in the workload
	handle *handle

	mu   sync.Mutex
	rt   *runtime.Runtime // nil: it starts
	dead bool
}

func (s *sim) nodes() []*node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.living)
}

// nodeAt returns the node in a place of the workload.
func (s *sim) nodeAt(place int) *node {
	living := s.nodes()
	return living[slices.IndexFunc(living, func(n *node) bool { return n.place == place })]
}

// startNode starts a node in a place of the workload.
func (s *sim) startNode(ctx context.Context, place int) {
	s.mu.Lock()
	s.made++
	n := &node{s: s, place: place, handle: newHandle(fmt.Sprintf("n%d.%d", place, s.made), s.gate, s.broken)}
	s.living = append(s.living, n)
	s.mu.Unlock()
	s.work.Go(func() { n.start(ctx) })
}

// start starts the runtime, again if the store fails.
func (n *node) start(ctx context.Context) {
	kind := n.s.workload.Nodes[n.place]
	opts := runtime.Options{Name: n.handle.name, Logger: slog.New(slog.DiscardHandler), Lease: lease, DeadlockLimit: 24 * time.Hour}
	_, bug := n.s.broken.(*broken) // no bug of a store is about figures
	opts.NoFigures = bug || !n.s.workload.Figures
	if kind == nodeEvicted {
		opts.Cache.Bytes = 1
	}
	if kind == nodeOlder {
		ctx = upgrade.As(ctx, replay.EngineLevel-1)
	}
	reg, err := n.s.register(n.handle, kind != nodeOlder) //nolint:contextcheck // registration takes none
	for err == nil {
		var rt *runtime.Runtime
		rt, err = runtime.Start(ctx, n.handle, reg, opts)
		if err == nil {
			n.began(ctx, rt)
			return
		}
		if n.handle.isDead() || n.s.over.Load() {
			return
		}
		if passes(err) && pause(ctx, time.Second) {
			err = nil
		}
	}
	if !n.s.over.Load() {
		n.s.wrongf("node %s: %v", n.handle.name, err)
	}
}

// began takes the runtime of a node that has started. It may be dead by now.
func (n *node) began(ctx context.Context, rt *runtime.Runtime) {
	n.mu.Lock()
	n.rt = rt
	dead := n.dead
	n.mu.Unlock()
	if dead || n.s.over.Load() {
		n.end(ctx)
	}
}

// end ends the goroutines of a node.
func (n *node) end(ctx context.Context) {
	n.mu.Lock()
	rt := n.rt
	n.mu.Unlock()
	if rt == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if n.handle.isDead() {
		var cancel func()
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	_ = rt.Shutdown(ctx) // what it could not release is found by the check of the store
}

// replace ends a node, by death or in order, and starts another one in its place.
func (s *sim) replace(ctx context.Context, p Pick) {
	place := p.A % len(s.workload.Nodes)
	n := s.nodeAt(place)
	n.mu.Lock()
	starting := n.rt == nil
	n.dead = p.Do == pickKill
	n.mu.Unlock()
	if p.Do == pickStop && starting {
		return
	}
	s.fault(p)
	s.mu.Lock()
	s.living = slices.DeleteFunc(s.living, func(o *node) bool { return o == n })
	s.mu.Unlock()
	s.gate.notef("%s: %s", n.handle.name, p.Do)
	if p.Do == pickKill {
		for i, c := range s.gate.fence(n.handle) {
			f := dieBefore
			if p.B>>(i%16)&1 == 1 {
				f = dieAfter
				if c.poll != nil && c.op != "notice" {
					c.poll()
				}
			}
			s.gate.send(c, f)
			synctest.Wait()
		}
	}
	s.work.Go(func() { n.end(ctx) })
	s.startNode(ctx, place)
}

// unfinished describes what has not ended.
func (s *sim) unfinished(ctx context.Context) string {
	text := fmt.Sprintf("%d clients", s.visiting.Load())
	res, err := s.store.List(ctx, provider.ListRequest{})
	if err != nil {
		return err.Error()
	}
	for i := range res.Instances {
		if in := &res.Instances[i]; !in.Status.Ended() {
			text += fmt.Sprintf("; %s %v, execution %d with %d events, %d messages, blocked %+v",
				s.gate.target("", in.Key), in.Status, in.Execution, in.HistoryLength, in.InboxMessages, in.Blocked)
		}
	}
	for _, c := range s.gate.stopped() {
		text += "; " + c.of.name + " " + c.label
	}
	return text
}

// check looks at what is left when all nodes have shut down.
func (s *sim) check(ctx context.Context) {
	c, err := client.New(s.store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.wrongf("client: %v", err)
		return
	}
	for i := range s.workload.Instances {
		for _, wrong := range s.judge(ctx, c, &s.workload.Instances[i]) {
			s.wrongf("%s: %s", s.workload.Instances[i].ID, wrong)
		}
	}
	time.Sleep(2 * lease) //nolint:forbidigo // virtual: leases of dead nodes end
	s.inspect(ctx, invariant.Options{Idle: true})
}

// inspect checks the invariants of the store.
func (s *sim) inspect(ctx context.Context, o invariant.Options) {
	report, err := invariant.Check(ctx, s.store, o)
	if err != nil {
		s.wrongf("checking the store: %v", err)
	}
	for _, f := range report.Findings {
		s.wrongf("the store is broken: %v", f)
	}
	for _, skipped := range report.Skipped {
		s.wrongf("the store is not checked: %s", skipped)
	}
}
