package prometheus

import (
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/perdure/perdure/observe"
)

// Describe implements [prom.Collector].
func (o *Observer) Describe(to chan<- *prom.Desc) {
	for _, v := range o.vectors.counters {
		v.Describe(to)
	}
	for _, v := range o.vectors.histograms {
		v.Describe(to)
	}
	for _, d := range o.vectors.gauges {
		to <- d
	}
}

// Collect implements [prom.Collector]. It reads memory only.
func (o *Observer) Collect(to chan<- prom.Metric) {
	for _, v := range o.vectors.counters {
		v.Collect(to)
	}
	for _, v := range o.vectors.histograms {
		v.Collect(to)
	}
	o.mu.Lock()
	g, store, began := o.gone, o.store, o.began
	nodes := make([]*observe.Node, 0, len(o.nodes))
	for n := range o.nodes {
		nodes = append(nodes, n)
	}
	o.mu.Unlock()
	s := scrape{o: o, to: to}
	if began {
		s.nodes(g, nodes)
	}
	if store != nil {
		s.store(store)
	}
}

// addTotals adds the figures of a node that only grow.
func addTotals(to, g *observe.Gauges) {
	to.Evicted += g.Evicted
	to.HeadersLeftOut += g.HeadersLeftOut
	to.EventsDropped += g.EventsDropped
	to.FiguresLost += g.FiguresLost
}

// scrape sends the gauges of one scrape.
type scrape struct {
	o  *Observer
	to chan<- prom.Metric
}

func (s *scrape) gauge(name string, value float64, labels ...string) {
	s.to <- prom.MustNewConstMetric(s.o.vectors.gauges[name], prom.GaugeValue, value, labels...)
}

func (s *scrape) total(name string, value int64) {
	s.to <- prom.MustNewConstMetric(s.o.vectors.gauges[name], prom.CounterValue, float64(value))
}

// nodes sends the sums of the running nodes. total has what nodes of before have counted.
func (s *scrape) nodes(total observe.Gauges, nodes []*observe.Node) {
	slots := map[string]observe.Slots{}
	add := func(kind string, n observe.Slots) {
		kind = s.o.pools.value(kind)
		sum := slots[kind]
		slots[kind] = observe.Slots{Used: sum.Used + n.Used, Limit: sum.Limit + n.Limit}
	}
	for _, n := range nodes {
		g := n.Gauges()
		addTotals(&total, &g)
		total.Cached += g.Cached
		total.CachedBytes += g.CachedBytes
		total.Leaked += g.Leaked
		add("turn", g.TurnSlots)
		add("activity", g.ActivitySlots)
		for name, pool := range g.Pools {
			s.o.pools.allow([]string{name})
			add(name, pool)
		}
	}
	for kind, n := range slots {
		s.gauge(slotsUsed, float64(n.Used), kind)
		s.gauge(slotsLimit, float64(n.Limit), kind)
	}
	s.gauge(cacheExecutions, float64(total.Cached))
	s.gauge(cacheBytes, float64(total.CachedBytes))
	s.gauge(leaked, float64(total.Leaked))
	s.total(cacheEvicted, total.Evicted)
	s.total(headersLeftOut, total.HeadersLeftOut)
	s.total(eventsDropped, total.EventsDropped)
	s.total(figuresLost, total.FiguresLost)
}

// store sends the state of the store.
func (s *scrape) store(of *observe.Store) {
	for status, n := range of.Instances {
		s.gauge(storeInstances, float64(n), status)
	}
	for kind, n := range of.Unserved {
		s.gauge(storeUnserved, float64(n), kind)
	}
	s.gauge(storeBlocked, float64(of.Blocked))
	if of.Retrying != nil {
		s.gauge(storeRetrying, float64(*of.Retrying))
	}
	s.gauge(storeDeadLetters, float64(of.DeadLetters))
	type place struct{ queue, name string }
	type sum struct {
		count  int64
		oldest time.Duration
	}
	put := func(all map[place]sum, at place, w *observe.Waiting) {
		one := all[at]
		all[at] = sum{one.count + w.Count, max(one.oldest, w.Oldest)}
	}
	turns, tasks := map[place]sum{}, map[place]sum{}
	for i := range of.Turns {
		put(turns, place{name: s.o.orchestrations.value(of.Turns[i].Name)}, &of.Turns[i])
	}
	for i := range of.Tasks {
		w := &of.Tasks[i]
		put(tasks, place{s.o.queues.value(w.Queue), s.o.activities.value(w.Name)}, w)
	}
	for at, w := range turns {
		s.gauge(storeTurns, float64(w.count), at.name)
		s.gauge(storeTurnsAge, w.oldest.Seconds(), at.name)
	}
	for at, w := range tasks {
		s.gauge(storeTasks, float64(w.count), at.queue, at.name)
		s.gauge(storeTasksAge, w.oldest.Seconds(), at.queue, at.name)
	}
}
