package runtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// watchNode shows the node to the Observer. stop ends that.
func watchNode(cfg *dispatcher.Config, began *atomic.Pointer[dispatcher.Dispatcher]) (stop func()) {
	w, ok := cfg.Watch.Observer().(observe.Watcher)
	if !ok {
		return func() {}
	}
	n := observe.Node{Name: cfg.Owner, Gauges: func() (g observe.Gauges) {
		if d := began.Load(); d != nil {
			g = d.Gauges()
		}
		return g
	}}
	names := map[string]bool{}
	for of := range cfg.Orchestrations {
		names[of.Name] = true
	}
	n.Orchestrations = slices.Sorted(maps.Keys(names))
	clear(names)
	for queue, funcs := range cfg.Activities {
		n.Queues = append(n.Queues, queue)
		for name := range funcs {
			names[name] = true
		}
	}
	n.Activities = slices.Sorted(maps.Keys(names))
	slices.Sort(n.Queues)
	end := w.Watch(n)
	if end == nil {
		end = func() {}
	}
	return sync.OnceFunc(end)
}

const (
	// readStore is how often the holder of the lease reads the state of the store.
	readStore = 15 * time.Second
	// storeLease is how long the lease lasts without a renewal.
	storeLease = 3 * readStore
	// storeLeaseName names it.
	storeLeaseName = "perdure/metrics"
	// maxCounted bounds counts of instances, and maxDeadLetters that of dead letters, which are read with their payloads.
	maxCounted     = 10_001
	maxDeadLetters = 100
)

// observeStore lets the node read the state of the store for the Observer, as long as it runs and holds the lease.
func (rt *Runtime) observeStore(cfg *dispatcher.Config) {
	w, ok := cfg.Watch.Observer().(observe.Watcher)
	if !ok {
		return
	}
	f := &figures{rt: rt, full: provider.FullOf(rt.store), to: w, token: provider.UUID(uuid.New())}
	before := cfg.Alongside
	cfg.Alongside = func(working context.Context, node control.Controls) {
		var both sync.WaitGroup
		defer both.Wait()
		both.Go(func() { f.run(working) })
		if before != nil {
			before(working, node)
		}
	}
}

// figures reads the state of the store for the Observer.
type figures struct {
	rt    *Runtime
	full  *provider.Full
	to    observe.Watcher
	token provider.UUID
	held  bool
}

func (f *figures) run(working context.Context) {
	ticker := time.NewTicker(readStore)
	defer ticker.Stop()
	for {
		f.refresh(working)
		select {
		case <-ticker.C:
		case <-working.Done():
			f.release(working)
			return
		}
	}
}

// refresh reads the store if this node holds the lease. A store without leases has no other node, as far as it can say.
func (f *figures) refresh(working context.Context) {
	ctx, cancel := context.WithTimeout(working, readStore)
	defer cancel()
	_, err := f.full.Lease(ctx, provider.LeaseRequest{
		Action: provider.LeaseAcquire, Name: storeLeaseName, Owner: f.rt.owner, Token: f.token, Duration: storeLease,
	})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		f.tell(nil)
		return
	}
	f.held = err == nil
	s, err := f.rt.storeFigures(ctx, f.full)
	if err != nil { // the figures of before would look as if nothing changed
		f.tell(nil)
		return
	}
	f.tell(s)
}

func (f *figures) tell(s *observe.Store) {
	defer func() { _ = recover() }() // an Observer's panic must not end the node
	f.to.Store(s)
}

// release lets another node read the store at once.
func (f *figures) release(working context.Context) {
	f.tell(nil)
	if !f.held {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(working), time.Second)
	defer cancel()
	_, _ = f.full.Lease(ctx, provider.LeaseRequest{ // it expires otherwise
		Action: provider.LeaseRelease, Name: storeLeaseName, Owner: f.rt.owner, Token: f.token,
	})
}

// storeFigures reads the state of the store. No part of it looks at more rows than there are waiting, running or 10,001.
func (rt *Runtime) storeFigures(ctx context.Context, full *provider.Full) (*observe.Store, error) {
	s := &observe.Store{At: time.Now(), Instances: map[string]int64{}, Unserved: map[string]int64{"orchestration": 0, "activity": 0}}
	for status := provider.StatusRunning; status <= provider.StatusTerminated; status++ {
		res, err := full.Count(ctx, provider.CountRequest{Filter: provider.Filter{Statuses: []provider.Status{status}}, Max: maxCounted})
		if err != nil {
			return nil, err
		}
		s.Instances[strings.ToLower(status.String())] = res.Count
	}
	blocked, err := full.Count(ctx, provider.CountRequest{Filter: provider.Filter{Blocked: true}, Max: maxCounted})
	if err != nil {
		return nil, err
	}
	s.Blocked = blocked.Count
	dead, err := full.DeadLetters(ctx, provider.DeadLettersRequest{Action: provider.DeadLettersList, Max: maxDeadLetters})
	if err != nil {
		return nil, err
	}
	s.DeadLetters = int64(len(dead.Letters))
	stats, err := full.Stats(ctx, provider.StatsRequest{Waiting: true, Running: true})
	if err != nil {
		return nil, err
	}
	return s, rt.addWaiting(ctx, s, &stats)
}

// addWaiting adds what waits, by name, and what this node cannot run.
func (rt *Runtime) addWaiting(ctx context.Context, s *observe.Store, stats *provider.StatsResult) error {
	turns, tasks := map[string]observe.Waiting{}, map[activityName]observe.Waiting{}
	for _, w := range stats.Turns {
		one := turns[w.Name]
		one.Name, one.Count, one.Oldest = w.Name, one.Count+w.Count, max(one.Oldest, stats.Now.Sub(w.Oldest))
		turns[w.Name] = one
	}
	for _, w := range stats.Tasks {
		key := activityName{w.Queue, w.Name}
		one := tasks[key]
		one.Name, one.Queue, one.Count, one.Oldest = w.Name, w.Queue, one.Count+w.Count, max(one.Oldest, stats.Now.Sub(w.Oldest))
		tasks[key] = one
	}
	s.Turns, s.Tasks = slices.AppendSeq(s.Turns, maps.Values(turns)), slices.AppendSeq(s.Tasks, maps.Values(tasks))
	var h Health
	if err := rt.unserved(ctx, &h, stats); err != nil {
		return err
	}
	for _, w := range h.Unserved {
		s.Unserved[w.Kind] += w.Count
	}
	return nil
}
