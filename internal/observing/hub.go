// Package observing reports to an Observer, which may be slow or fail, and never lets its callers notice.
package observing

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/observe"
)

// batchDelay is how long the goroutine waits for further events, so that it need not be woken for each.
const batchDelay = 10 * time.Millisecond

// maxQueue is how many events wait for a slow Observer. Further ones are dropped.
const maxQueue = 8_192

// Hub passes events on to an Observer. A nil Hub has none and costs a branch. Its goroutine runs while there are events and ends by
// itself. Many goroutines may use it at once.
type Hub struct {
	to     observe.Observer
	tracer observe.Tracer // nil: it makes no spans
	logger *slog.Logger

	dropped atomic.Int64
	warned  atomic.Bool // of a dropped event
	failed  atomic.Bool // a panic was logged

	mu         sync.Mutex
	waiting    batch
	emptyBatch batch // the storage of the last batch, for the next one
	running    bool
	idle       chan struct{} // closed when the goroutine has ended; nil: nobody waits
	flushNow   chan struct{} // capacity 1: somebody waits
}

// batch is what waits for the Observer. Calls of the store stand in a list of their own, since they are many and have a fifth of the
// size: what passes from one processor to another is what an Observer costs.
type batch struct {
	reports []report
	calls   []call
}

type report struct {
	e   observe.Event
	end func(observe.Event) // of a span; nil: none
}

// call is a call of the store.
type call struct {
	name    string
	outcome observe.Outcome
	at      time.Time // of its end
	took    time.Duration
}

// New returns a Hub for an Observer, nil for none.
func New(o observe.Observer, logger *slog.Logger) *Hub {
	if check.IsNil(o) {
		return nil
	}
	if logger == nil {
		logger = slog.Default()
	}
	h := &Hub{to: o, logger: logger, flushNow: make(chan struct{}, 1)}
	h.tracer, _ = o.(observe.Tracer)
	return h
}

// Observer returns what New was given; nil: none.
func (h *Hub) Observer() observe.Observer {
	if h == nil {
		return nil
	}
	return h.to
}

// On reports whether there is an Observer.
func (h *Hub) On() bool { return h != nil }

// Traces reports whether spans are made.
func (h *Hub) Traces() bool { return h != nil && h.tracer != nil }

// Dropped returns how many events the Observer did not get.
func (h *Hub) Dropped() int64 {
	if h == nil {
		return 0
	}
	return h.dropped.Load()
}

// Report reports an event.
func (h *Hub) Report(e observe.Event) { h.End(e, nil) }

// End reports an event, and then ends a span with it; nil: none. It never waits for the Observer.
func (h *Hub) End(e observe.Event, end func(observe.Event)) {
	if h == nil {
		return
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	h.mu.Lock()
	if len(h.waiting.reports) >= maxQueue {
		h.mu.Unlock()
		h.drop()
		return
	}
	h.waiting.reports = append(h.waiting.reports, report{e, end})
	h.added()
}

// called reports a call of the store.
func (h *Hub) called(c call) {
	h.mu.Lock()
	if len(h.waiting.calls) >= maxQueue {
		h.mu.Unlock()
		h.drop()
		return
	}
	h.waiting.calls = append(h.waiting.calls, c)
	h.added()
}

// added starts the goroutine unless it runs. It releases mu.
func (h *Hub) added() {
	start := !h.running
	h.running = true
	h.mu.Unlock()
	if start {
		go h.run()
	}
}

func (h *Hub) drop() {
	h.dropped.Add(1)
	if h.warned.CompareAndSwap(false, true) {
		h.logger.Warn("the observer is too slow: events are dropped", "observer", fmt.Sprintf("%T", h.to), "queue", maxQueue)
	}
}

// run passes on what waits, and ends when nothing does.
func (h *Hub) run() {
	timer := time.NewTimer(batchDelay)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-h.flushNow:
		}
		timer.Reset(batchDelay)
		h.mu.Lock()
		next := h.waiting
		if len(next.reports)+len(next.calls) == 0 {
			h.running = false
			if h.idle != nil {
				close(h.idle)
				h.idle = nil
			}
			select {
			case <-h.flushNow: // of those who waited for this end
			default:
			}
			h.mu.Unlock()
			return
		}
		h.waiting, h.emptyBatch = h.emptyBatch, batch{}
		h.mu.Unlock()
		h.passAll(&next)
		h.mu.Lock()
		h.emptyBatch = next
		if h.idle != nil {
			h.wake()
		}
		h.mu.Unlock()
	}
}

// passAll passes on a batch and empties it.
func (h *Hub) passAll(b *batch) {
	for i := range b.calls {
		c := &b.calls[i]
		h.pass(&report{e: observe.Event{Kind: observe.Storage, At: c.at, Name: c.name, Took: c.took, Outcome: c.outcome}})
	}
	for i := range b.reports {
		h.pass(&b.reports[i])
	}
	b.calls, b.reports = reset(b.calls), reset(b.reports)
}

// reset returns the storage of a list for the next one, unless a burst is over.
func reset[T any](list []T) []T {
	if cap(list) > 8*len(list)+1_024 {
		return nil
	}
	clear(list)
	return list[:0]
}

func (h *Hub) pass(r *report) {
	defer h.recovered()
	if r.e.Kind != 0 {
		h.to.Observe(r.e)
	}
	if r.end != nil {
		r.end(r.e)
	}
}

// recovered ends the panic of an Observer. It must be deferred.
func (h *Hub) recovered() {
	p := recover()
	if p == nil {
		return
	}
	h.dropped.Add(1)
	if h.failed.CompareAndSwap(false, true) {
		h.logger.Error("the observer panicked", "observer", fmt.Sprintf("%T", h.to), "panic", p)
	}
}

// wake ends the delay of a batch. It needs mu.
func (h *Hub) wake() {
	select {
	case h.flushNow <- struct{}{}:
	default:
	}
}

// Flush waits until the Observer has all events, for at most the limit. It reports whether it has.
func (h *Hub) Flush(limit time.Duration) bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	if !h.running {
		h.mu.Unlock()
		return true
	}
	if h.idle == nil {
		h.idle = make(chan struct{})
	}
	idle := h.idle
	h.wake()
	h.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}
