package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/perdure/perdure/codec"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/recorded"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// mode is a way to run a program.
type mode struct {
	name  string
	every uint64            // only for each every-th seed, where two modes are nearly equal
	opts  []runtime.Options // one of them is drawn
	kills int               // how many nodes die, at most
	shake bool              // storage calls fail, before and after their effect
}

func modes() []mode {
	cached, uncached, evicted := runtime.Options{}, runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}, runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}
	either := []runtime.Options{cached, cached, uncached, evicted}
	return []mode{
		{name: "straight", every: 1, opts: []runtime.Options{cached}},
		{name: "evicted", every: 1, opts: []runtime.Options{evicted}},
		{name: "uncached", every: 4, opts: []runtime.Options{uncached}},
		{name: "killed", every: 1, opts: either, kills: 5},
		{name: "shaken", every: 1, opts: either, shake: true},
	}
}

// run is one run of a program.
type run struct {
	mode
	*house
	*rand.Rand

	sum    *tally
	store  provider.Provider
	others []provider.Provider // further handles of the store, with caches of their own
	// A caller left while the server stored its question: Postgres keeps the question until it expires.
	leavesAsks bool
	codec      codec.Codec // of all nodes and clients; nil: none
	moment     time.Duration
	lease      time.Duration
	limit      time.Duration // for the whole run
	plan       *faulty.Plan  // of the storage's failures, with shake
	nodes      []*runtime.Runtime
	record     bool                 // each node records its turns
	recorders  []*recorded.Recorder // of the nodes
	ends       sync.WaitGroup       // of dead nodes
}

// do runs a program on a store and returns its outcome. The error is anything else that is wrong.
func (r *run) do(ctx context.Context, p Program) (o Outcome, err error) {
	if r.house, err = newHouse(r.handle(), &p, r.moment, r.codec); err != nil { //nolint:contextcheck // it only reads the names of functions
		return o, err
	}
	r.steady = r.record
	if _, _, err = upgrade.Finish(ctx, provider.FullOf(r.store), replay.EngineLevel, false); err != nil { // no node has used the store yet
		return o, err
	}
	handle, err := client.StartNamed[[]string](ctx, r.c, nameExecute, Input{}, client.WithID("main"))
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	var sender sync.WaitGroup
	chance := rand.New(rand.NewPCG(r.Uint64(), 0))
	sender.Go(func() { r.sendEarly(ctx, handle, p.Events, chance) })
	caller := rand.New(rand.NewPCG(r.Uint64(), 2))
	var refused error
	sender.Go(func() { refused = r.callAll(ctx, handle, p, caller) })
	taken := make(chan error, 1)
	taker := rand.New(rand.NewPCG(r.Uint64(), 3))
	repeatable := !r.shake && resettable(p)
	if reset := repeatable && r.IntN(3) == 0; !reset {
		sender.Go(func() { taken <- r.hold(ctx, handle, taker) })
	} else {
		repeatable = false
		sender.Go(func() { taken <- errors.Join(r.reset(ctx, handle, taker), r.callAgain(ctx, handle, p)) })
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err = <-taken; err == nil {
			o, err = r.await(ctx, handle)
		}
	}()
	asker := rand.New(rand.NewPCG(r.Uint64(), 1))
	var wrong error
	sender.Go(func() { wrong = r.ask(ctx, handle, ended, asker) })
	failed := r.live(ctx, ended)
	if failed != nil {
		cancel()
	}
	<-ended
	sender.Wait()
	err = errors.Join(err, failed, wrong, refused)
	if err == nil && repeatable && r.IntN(2) == 0 {
		err = r.restart(ctx, handle, p, o, taker)
	}
	if err == nil {
		err = r.awaitChildren(ctx)
	}
	for _, n := range r.nodes {
		err = errors.Join(err, r.shutdown(ctx, n))
	}
	r.ends.Wait()
	if r.plan != nil {
		r.sum.lost.Add(int64(r.plan.Injected(faulty.CommitTurn) + r.plan.Injected(faulty.ReportTasks)))
	}
	if err == nil {
		err = r.check(context.WithoutCancel(ctx))
	}
	return o, err
}

// live keeps a node running until the program has ended. It replaces dead nodes at once. The first ones may be of the older release.
// Sometimes a second node, of the newer one, runs from the beginning.
func (r *run) live(ctx context.Context, ended <-chan struct{}) error {
	if r.kills > 0 && r.IntN(3) == 0 {
		if _, err := r.start(ctx, r.handle(), r.newer); err != nil {
			return err
		}
	}
	deploy := r.IntN(r.kills + 1)
	for kills := range r.kills {
		release := r.newer
		if kills < deploy {
			release = r.older
		}
		m := newMortal(r.handle(), r.Rand)
		n, err := r.start(ctx, m, release)
		if err != nil {
			return err
		}
		select {
		case <-ended:
			if m.spare() {
				return nil
			}
		case <-m.died:
		}
		r.bury(ctx, n)
	}
	if !r.shake {
		_, err := r.start(ctx, r.handle(), r.newer)
		return err
	}
	r.plan = faulty.NewPlan(r.Uint64())
	if _, err := r.start(ctx, faulty.Wrap(r.handle(), r.plan), r.newer); err != nil {
		return err
	}
	shake(r.plan) // a node does not start on failing storage
	r.fail(ctx, r.plan, ended, r.Rand)
	return nil
}

// shake makes storage calls fail, with and without effect.
func shake(plan *faulty.Plan) {
	plan.InventNotices(true)
	often := []faulty.Op{faulty.CommitTurn, faulty.ReportTasks, faulty.ReadHistory, faulty.ReleaseTurns, faulty.RenewTasks}
	plan.Add(faulty.Rule{Ops: often, Probability: 0.1, Kind: faulty.Before})
	plan.Add(faulty.Rule{Ops: often, Probability: 0.15, Kind: faulty.After})
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.FetchTurns, faulty.FetchTasks}, Probability: 0.02, Kind: faulty.After})
}

// handle draws one of the handles of the store, for a node or a client.
func (r *run) handle() provider.Provider {
	if len(r.others) == 0 {
		return r.store
	}
	if n := r.IntN(len(r.others) + 1); n > 0 {
		return r.others[n-1]
	}
	return r.store
}

// start starts a node of the newer release, or of the older one.
func (r *run) start(ctx context.Context, store provider.Provider, release *runtime.Registry) (*runtime.Runtime, error) {
	opts := r.opts[r.IntN(len(r.opts))]
	opts.Codec, opts.Lease, opts.DeadlockLimit, opts.Logger = r.codec, r.lease, runtime.Off, slog.New(slog.DiscardHandler)
	if r.record {
		ctx, store = fastpath.Without(ctx, recorded.Off(false)), r.recording(store, release)
	}
	n, err := runtime.Start(ctx, store, release, opts)
	if err == nil {
		r.nodes = append(r.nodes, n)
	}
	return n, err
}

// bury frees the goroutines of a dead node. Nothing that it still does reaches the store.
func (r *run) bury(ctx context.Context, n *runtime.Runtime) {
	r.nodes = r.nodes[:len(r.nodes)-1]
	r.ends.Go(func() {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_ = n.Shutdown(ctx) // it cannot release anything
		r.sum.killed.Add(1)
		r.sum.add(n.Stats())
	})
}

// shutdown ends a living node.
func (r *run) shutdown(ctx context.Context, n *runtime.Runtime) error {
	err := n.Shutdown(context.WithoutCancel(ctx))
	s := n.Stats()
	r.sum.add(s)
	if s.TurnsFailed > 0 {
		err = errors.Join(err, fmt.Errorf("%d turns failed", s.TurnsFailed))
	}
	return err
}

// sendEarly raises the unsolicited events, in order and at any time, some of them twice.
func (r *run) sendEarly(ctx context.Context, h client.Handle[[]string], n int, chance *rand.Rand) {
	raise := func(i int) {
		// A program that throws ends without them. Only events that it misses would show an error.
		_ = h.Raise(ctx, "early", i, client.WithRequestID(fmt.Sprint("early ", i)))
	}
	for i := range n {
		raise(i + 1)
		if !pause(ctx, time.Duration(chance.IntN(4))*r.moment) {
			return
		}
		if chance.IntN(2) == 0 {
			raise(1 + chance.IntN(i+1)) // as a client whose reply was lost
		}
	}
}

// ask asks the program until it has ended, also what its handlers must not do. The answers do not count: the program must end as if
// nobody had asked.
func (r *run) ask(ctx context.Context, h client.Handle[[]string], ended <-chan struct{}, chance *rand.Rand) error {
	for pause(ctx, time.Duration(chance.IntN(20))*r.moment+time.Millisecond) {
		name := []string{"lines", "lines", "refused", "panic", "stack"}[chance.IntN(5)]
		brief, cancel := context.WithTimeout(ctx, r.lease)
		_, err := client.Query[json.RawMessage](brief, h, name, nil)
		cancel()
		switch {
		case err == nil:
			r.sum.answers.Add(1)
		case errors.Is(err, client.ErrNotReplayed) && r.kills == 0: // else a node of the older release may have it
			return err
		}
		select {
		case <-ended:
			return nil
		default:
		}
	}
	return nil
}

// fail lets the storage fail several times, for as long as two leases, until the program has ended.
func (r *run) fail(ctx context.Context, plan *faulty.Plan, ended <-chan struct{}, chance *rand.Rand) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-ended
		cancel()
	}()
	defer plan.EndOutage()
	for range 3 {
		pause(ctx, time.Duration(chance.IntN(60))*r.moment)
		plan.StartOutage()
		pause(ctx, time.Duration(chance.Int64N(int64(2*r.lease))))
		plan.EndOutage()
	}
	<-ctx.Done()
}

// await waits for the end of the program.
func (r *run) await(ctx context.Context, h client.Handle[[]string]) (o Outcome, err error) {
	lines, err := h.Wait(ctx, client.OrBlocked())
	if errors.Is(err, client.ErrBlocked) || ctx.Err() != nil {
		return o, err
	}
	if thrown, ok := thrownBy(err); ok {
		lines = thrown.Lines
	}
	shown, i, failed := r.shown(ctx, h.Key())
	if failed == nil {
		var back int64
		back, failed = resets(ctx, h, i.Execution)
		i.Execution -= back
	}
	return Outcome{Status: i.Status.String(), Class: class(err), Executions: i.Execution, Lines: lines, Shown: shown}, failed
}

// awaitChildren waits until everything that the program left behind has ended, too.
func (r *run) awaitChildren(ctx context.Context) error {
	running := provider.CountRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusRunning, provider.StatusSuspended}}}
	for {
		res, err := provider.FullOf(r.store).Count(ctx, running)
		if err != nil || res.Count == 0 {
			return err
		}
		if !pause(ctx, r.unit) {
			return fmt.Errorf("%d children never end", res.Count)
		}
	}
}

// pause waits. It returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
