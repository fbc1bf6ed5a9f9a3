package prometheus

import (
	"log/slog"
	"strconv"
	"sync"
	"time"

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

	orchestrations *names
	activities     *names
	queues         *names
	pools          *names

	mu    sync.Mutex
	nodes map[*observe.Node]struct{}
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
		vectors: newVectors(), nodes: make(map[*observe.Node]struct{}),
		orchestrations: newNames(orchestrationLabel, logger), activities: newNames(activityLabel, logger),
		queues: newNames(queueLabel, logger), pools: newNames(kindLabel, logger),
	}
	o.pools.allow([]string{"turn", "activity"})
	for _, n := range []*names{o.orchestrations, o.activities, o.queues} {
		n.allow(opts.Names)
	}
	return o
}

// Observe implements [observe.Observer].
func (o *Observer) Observe(e observe.Event) {
	v := &o.vectors
	orchestration := o.orchestrations.value(e.Orchestration)
	switch e.Kind {
	case observe.Turn:
		o.took(turnSeconds, e.Took, orchestration, e.Source, string(e.Outcome))
		o.took(turnWait, e.Wait, orchestration)
	case observe.Replay:
		o.took(replaySeconds, e.Took, orchestration)
	case observe.Started:
		v.add(startedTotal, 1, orchestration)
	case observe.Ended:
		v.add(endedTotal, 1, orchestration, string(e.Outcome))
		o.took(lifeSeconds, e.Took, orchestration, string(e.Outcome))
		v.histograms[historyEvents].WithLabelValues(orchestration).Observe(float64(e.Count))
	case observe.Blocked:
		v.add(blockedTotal, 1, orchestration, e.Reason)
	case observe.Attempt:
		o.attempt(&e)
	case observe.Query:
		o.took(querySeconds, e.Took, orchestration, string(e.Outcome))
	case observe.Update:
		o.took(updateSeconds, e.Took, orchestration, string(e.Outcome))
	case observe.Storage:
		o.took(operationSeconds, e.Took, e.Name, string(e.Outcome))
	case observe.Poisoned:
		v.add(poisonedTotal, 1, o.activities.value(e.Activity))
	case observe.LeaseLost:
		v.add(leaseLostTotal, 1, e.Reason)
	case observe.Dropped:
		v.add(droppedTotal, float64(e.Count), e.Reason)
	case observe.Scheduled:
		v.add(scheduleTotal, 1, orchestration, string(e.Outcome))
		o.took(scheduleLag, e.Took, orchestration)
	case observe.Handled: // of interest to traces
	}
}

func (o *Observer) attempt(e *observe.Event) {
	activity, queue := o.activities.value(e.Activity), o.queues.value(e.Queue)
	o.took(activitySeconds, e.Took, activity, queue, strconv.FormatBool(e.Local), string(e.Outcome))
	o.took(activityWait, e.Wait, activity, queue)
	o.took(activityTotal, e.Total, activity, string(e.Outcome))
	o.took(activityCancel, e.Cancel, activity)
}

// took observes a duration, if it is known.
func (o *Observer) took(name string, d time.Duration, labels ...string) {
	if d != observe.NoTime {
		o.vectors.histograms[name].WithLabelValues(labels...).Observe(d.Seconds())
	}
}

// Watch implements [observe.Watcher].
func (o *Observer) Watch(n observe.Node) (stop func()) {
	o.orchestrations.allow(n.Orchestrations)
	o.activities.allow(n.Activities)
	o.queues.allow(n.Queues)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nodes[&n] = struct{}{}
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
