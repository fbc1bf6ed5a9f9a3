package prometheus

import (
	"log/slog"
	"sync"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/perdure/perdure/observe"
)

// Options are the settings of an Observer. The zero value is right for most programs.
type Options struct {
	// Names are names of orchestrations, activities and queues that may become labels although no node of the process has
	// registered them. It is for processes that only have clients.
	Names []string
	// Logger is told once per label that has too many values; default: slog.Default().
	Logger *slog.Logger
}

// Observer counts what nodes and clients do. It is an [observe.Watcher] and a collector for a registry of Prometheus. Make it with
// [New]. One Observer may be given to several nodes and clients; it then shows their sums. Many goroutines may use it at once.
type Observer struct {
	vectors vectors
	cache   cache

	orchestrations *names
	activities     *names
	queues         *names
	pools          *names
	figures        *names // of code

	mu    sync.Mutex
	nodes map[*observe.Node]struct{}
	began bool           // there was a node: without one, its gauges would say that nothing runs
	gone  observe.Gauges // totals of nodes that have shut down
	store *observe.Store // nil: another node has it
}

var (
	_ observe.Watcher = (*Observer)(nil)
	_ prom.Collector  = (*Observer)(nil)
)

// New makes an Observer.
func New(opts Options) *Observer {
	logger := opts.Logger
	if logger == nil {
		logger = slog.Default()
	}
	o := &Observer{
		vectors: newVectors(), cache: cache{all: make(map[seriesKey]*found)}, nodes: make(map[*observe.Node]struct{}),
		orchestrations: newNames(orchestrationLabel, logger), activities: newNames(activityLabel, logger),
		queues: newNames(queueLabel, logger), pools: newNames(kindLabel, logger), figures: newNames(nameLabel, logger),
	}
	o.pools.allow([]string{"turn", "activity"})
	for _, n := range []*names{o.orchestrations, o.activities, o.queues} {
		n.allow(opts.Names)
	}
	return o
}

// Observe implements [observe.Observer].
func (o *Observer) Observe(e observe.Event) { o.of(&e).add(&e) }

// Watch implements [observe.Watcher].
func (o *Observer) Watch(n observe.Node) (stop func()) {
	o.orchestrations.allow(n.Orchestrations)
	o.activities.allow(n.Activities)
	o.queues.allow(n.Queues)
	o.allowed()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nodes[&n], o.began = struct{}{}, true
	return func() {
		last := n.Gauges()
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.nodes, &n)
		addTotals(&o.gone, &last)
	}
}

// Store implements [observe.Watcher].
func (o *Observer) Store(s *observe.Store) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.store = s
}
