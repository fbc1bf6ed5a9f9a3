package runtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/observing"
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
)

// observeStore lets the node read the state of the store for the Observer, as long as it runs and holds the lease. It begins once the runtime
// is complete, when started is closed.
func (rt *Runtime) observeStore(cfg *dispatcher.Config, started <-chan struct{}) {
	w, ok := cfg.Watch.Observer().(observe.Watcher)
	if !ok {
		return
	}
	f := &storeReader{rt: rt, full: provider.FullOf(rt.store), to: w, token: provider.UUID(uuid.New())}
	before := cfg.Background
	cfg.Background = func(working context.Context, node dispatcher.Controls) {
		var both sync.WaitGroup
		defer both.Wait()
		both.Go(func() {
			select {
			case <-started:
				f.run(working)
			case <-working.Done():
			}
		})
		if before != nil {
			before(working, node)
		}
	}
}

// storeReader reads the state of the store for the Observer.
type storeReader struct {
	rt    *Runtime
	full  *provider.Full
	to    observe.Watcher
	token provider.UUID
	held  bool
}

func (f *storeReader) run(working context.Context) {
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
func (f *storeReader) refresh(working context.Context) {
	ctx, cancel := context.WithTimeout(working, readStore)
	defer cancel()
	_, err := f.full.Lease(ctx, provider.LeaseRequest{
		Action: provider.LeaseAcquire, Name: storeLeaseName, Owner: f.rt.owner, Token: f.token, Duration: storeLease,
	})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		f.publish(nil)
		return
	}
	f.held = err == nil
	s, err := f.rt.storeFigures(ctx, f.full)
	if err != nil { // the figures of before would look as if nothing changed
		f.publish(nil)
		return
	}
	f.publish(s)
}

func (f *storeReader) publish(s *observe.Store) {
	defer func() { _ = recover() }() // an Observer's panic must not end the node
	f.to.Store(s)
}

// release lets another node read the store at once.
func (f *storeReader) release(working context.Context) {
	f.publish(nil)
	if !f.held {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(working), time.Second)
	defer cancel()
	_, _ = f.full.Lease(ctx, provider.LeaseRequest{ // it expires otherwise
		Action: provider.LeaseRelease, Name: storeLeaseName, Owner: f.rt.owner, Token: f.token,
	})
}

// storeFigures reads the state of the store, and what this node cannot run.
func (rt *Runtime) storeFigures(ctx context.Context, full *provider.Full) (*observe.Store, error) {
	s, stats, err := observing.ReadStore(ctx, full)
	if err != nil {
		return nil, err
	}
	var h Health
	if err := rt.unserved(ctx, &h, stats); err != nil {
		return nil, err
	}
	for _, w := range h.Unserved {
		s.Unserved[w.Kind] += w.Count
	}
	return s, nil
}
