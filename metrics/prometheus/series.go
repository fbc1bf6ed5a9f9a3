package prometheus

import (
	"strconv"
	"sync"
	"time"

	prom "github.com/prometheus/client_golang/prometheus"

	"github.com/perdure/perdure/observe"
)

// maxSeries bounds the cache of series. Further ones are looked up each time.
const maxSeries = 4_096

// seriesKey is what chooses the series of an event.
type seriesKey struct {
	kind          observe.Kind
	local         bool
	orchestration string
	activity      string
	queue         string
	name          string
	outcome       observe.Outcome
	source        string
	reason        string
}

// series are those that an event counts in. Looking them up by their labels would cost more than counting.
type series struct {
	count   prom.Counter  // nil: none, as of the following
	took    prom.Observer // of Took
	wait    prom.Observer
	total   prom.Observer
	cancel  prom.Observer
	history prom.Observer // of Count
	each    bool          // count adds Count, not one
}

// cache holds series.
type cache struct {
	mu  sync.RWMutex
	all map[seriesKey]*series
}

// of returns the series of an event.
func (o *Observer) of(e *observe.Event) *series {
	key := seriesKey{kind: e.Kind, orchestration: e.Orchestration, outcome: e.Outcome}
	switch e.Kind { //nolint:exhaustive // the others have no more labels
	case observe.Turn:
		key.source = e.Source
	case observe.Attempt:
		key.orchestration, key.activity, key.queue, key.local = "", e.Activity, e.Queue, e.Local
	case observe.Poisoned:
		key.activity = e.Activity
	case observe.Storage:
		key.name = e.Name
	case observe.Blocked, observe.LeaseLost, observe.Dropped:
		key.reason = e.Reason
	}
	o.cache.mu.RLock()
	s := o.cache.all[key]
	o.cache.mu.RUnlock()
	if s != nil {
		return s
	}
	o.cache.mu.Lock()
	defer o.cache.mu.Unlock()
	s = o.lookUp(&key)
	if len(o.cache.all) < maxSeries {
		o.cache.all[key] = s
	}
	return s
}

// allowed forgets the series, because names have become labels.
func (o *Observer) allowed() {
	o.cache.mu.Lock()
	defer o.cache.mu.Unlock()
	clear(o.cache.all)
}

func (o *Observer) lookUp(key *seriesKey) *series {
	h := func(name string, labels ...string) prom.Observer {
		return o.vectors.histograms[name].WithLabelValues(labels...)
	}
	c := func(name string, labels ...string) prom.Counter {
		return o.vectors.counters[name].WithLabelValues(labels...)
	}
	orchestration, outcome := o.orchestrations.value(key.orchestration), string(key.outcome)
	switch key.kind {
	case observe.Turn:
		return &series{took: h(turnSeconds, orchestration, key.source, outcome), wait: h(turnWait, orchestration)}
	case observe.Replay:
		return &series{took: h(replaySeconds, orchestration)}
	case observe.Started:
		return &series{count: c(startedTotal, orchestration)}
	case observe.Ended:
		return &series{
			count: c(endedTotal, orchestration, outcome), took: h(lifeSeconds, orchestration, outcome), history: h(historyEvents, orchestration),
		}
	case observe.Blocked:
		return &series{count: c(blockedTotal, orchestration, key.reason)}
	case observe.Attempt:
		activity, queue := o.activities.value(key.activity), o.queues.value(key.queue)
		return &series{
			took: h(activitySeconds, activity, queue, strconv.FormatBool(key.local), outcome), wait: h(activityWait, activity, queue),
			total: h(activityTotal, activity, outcome), cancel: h(activityCancel, activity),
		}
	case observe.Query:
		return &series{took: h(querySeconds, orchestration, outcome)}
	case observe.Update:
		return &series{took: h(updateSeconds, orchestration, outcome)}
	case observe.Storage:
		return &series{took: h(operationSeconds, key.name, outcome)}
	case observe.Poisoned:
		return &series{count: c(poisonedTotal, o.activities.value(key.activity))}
	case observe.LeaseLost:
		return &series{count: c(leaseLostTotal, key.reason)}
	case observe.Dropped:
		return &series{count: c(droppedTotal, key.reason), each: true}
	case observe.Scheduled:
		return &series{count: c(scheduleTotal, orchestration, outcome), took: h(scheduleLag, orchestration), each: true}
	case observe.Handled: // of interest to traces
	}
	return &series{}
}

// add counts an event.
func (s *series) add(e *observe.Event) {
	if s.count != nil {
		n := float64(1)
		if s.each {
			n = float64(e.Count)
		}
		s.count.Add(n)
	}
	took(s.took, e.Took)
	took(s.wait, e.Wait)
	took(s.total, e.Total)
	took(s.cancel, e.Cancel)
	if s.history != nil {
		s.history.Observe(float64(e.Count))
	}
}

// took observes a duration, if it is known.
func took(to prom.Observer, d time.Duration) {
	if to != nil && d != observe.NoTime {
		to.Observe(d.Seconds())
	}
}
