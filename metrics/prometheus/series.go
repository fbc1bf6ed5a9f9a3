package prometheus

import (
	"strconv"
	"sync"
	"sync/atomic"
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
	value   prom.Observer // of Value
}

// cache holds series.
type cache struct {
	// recent are those looked up last, by place. To compare a key costs a fifth of hashing it, and most events are like some before.
	recent [1 << 8]atomic.Pointer[found]

	mu  sync.Mutex
	all map[seriesKey]*found
}

// found is a series and its key.
type found struct {
	key seriesKey
	s   *series
}

// place returns where the series of a key is looked for first.
func (k *seriesKey) place() int {
	lengths := len(k.orchestration) + 3*len(k.activity) + 5*len(k.name) + 7*len(k.outcome) + 11*len(k.source)
	return (int(k.kind)*31 + lengths) & (1<<8 - 1)
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
	case observe.Storage, observe.Counted, observe.Observed:
		key.name = e.Name
	case observe.Blocked, observe.LeaseLost, observe.Dropped:
		key.reason = e.Reason
	}
	recent := &o.cache.recent[key.place()]
	if r := recent.Load(); r != nil && r.key == key {
		return r.s
	}
	return o.find(&key, recent)
}

// find looks up a series that was not at its place, and puts it there.
func (o *Observer) find(key *seriesKey, recent *atomic.Pointer[found]) *series {
	o.cache.mu.Lock()
	defer o.cache.mu.Unlock()
	f := o.cache.all[*key]
	if f == nil {
		f = &found{key: *key, s: o.lookUp(key)}
		if len(o.cache.all) < maxSeries {
			o.cache.all[*key] = f
		}
	}
	recent.Store(f)
	return f.s
}

// allowed forgets the series, because names have become labels.
func (o *Observer) allowed() {
	o.cache.mu.Lock()
	defer o.cache.mu.Unlock()
	clear(o.cache.all)
	for i := range o.cache.recent {
		o.cache.recent[i].Store(nil)
	}
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
	case observe.Counted:
		return &series{count: c(codeCounted, orchestration, o.figure(key.name)), each: true}
	case observe.Observed:
		return &series{value: h(codeObserved, orchestration, o.figure(key.name))}
	case observe.Handled: // of interest to traces
	}
	return &series{}
}

// figure returns the name of a figure as a label. Code chooses the names, so only their number is bounded.
func (o *Observer) figure(name string) string {
	o.figures.allow([]string{name})
	return o.figures.value(name)
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
	if s.value != nil {
		s.value.Observe(e.Value)
		return
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
