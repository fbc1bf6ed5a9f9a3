package observe

import (
	"context"
	"time"
)

// Observer receives events. Several goroutines may call it at once, if several nodes or clients have it.
//
// New kinds of events may come with each release: ignore those that are not known.
type Observer interface {
	Observe(e Event)
}

// Watcher is an Observer that also wants to read the state of nodes and of their store.
type Watcher interface {
	Observer
	// Watch is called when a node starts, before its first event. The node calls stop when it has shut down.
	Watch(n Node) (stop func())
	// Store gives the state of the whole store, every 15 seconds on one node of all that share the store. nil says that
	// this node does not know it any more. The caller does not change s.
	Store(s *Store)
}

// Node is a running node.
type Node struct {
	Name string // its owner name, unique to each start
	// Orchestrations, Activities and Queues are the names that are registered on the node. Nothing else may become the label of
	// a metric.
	Orchestrations []string
	Activities     []string
	Queues         []string
	// Gauges reads the state of the node. It reads memory only and may be called at any time.
	Gauges func() Gauges
}

// Gauges are the state of a node now. Fields marked as totals only grow.
type Gauges struct {
	TurnSlots      Slots
	ActivitySlots  Slots
	Pools          map[string]Slots // by name of the pool
	Cached         int64            // executions in the cache
	CachedBytes    int64            // their estimated memory
	Evicted        int64            // total: executions thrown away
	Leaked         int64            // code that did not return within the grace period
	EventsDropped  int64            // total: events that the Observer was too slow for, or panicked at
	HeadersLeftOut int64            // total
	FiguresLost    int64            // total: figures of code that were left out, or whose commit has an unknown outcome
}

// Slots are places of work.
type Slots struct{ Used, Limit int64 }

// Store is the state of a store.
type Store struct {
	At        time.Time        // when it was read
	Instances map[string]int64 // by status, such as "running", each at most 10,001
	Turns     []Waiting        // orchestrations ready for a turn
	Tasks     []Waiting        // activities that could be fetched
	Unserved  map[string]int64 // by kind, "orchestration" or "activity": ready work that this node cannot do, and versions that no node runs
	Blocked   int64            // instances
	// Retrying is how many instances have an activity whose attempts fail and are repeated: a lower bound if over 5,000 activities are. It is nil if
	// the store cannot tell.
	Retrying    *int64
	DeadLetters int64 // at most 100
}

// Waiting is work that waits in the store.
type Waiting struct {
	Name   string // of the orchestration or activity
	Queue  string // of an activity
	Count  int64
	Oldest time.Duration // how long the oldest one waits
}

// All returns an Observer that passes everything on to each of the given ones. It is a [Watcher], and a [Tracer] if one of them
// is; the first one makes the spans. A nil Observer is left out.
func All(all ...Observer) Observer {
	f := fan{}
	for _, o := range all {
		if o == nil {
			continue
		}
		f.all = append(f.all, o)
		if t, ok := o.(Tracer); ok && f.tracer == nil {
			f.tracer = t
		}
	}
	if f.tracer != nil {
		return tracingFan{f}
	}
	return f
}

type fan struct {
	all    []Observer
	tracer Tracer
}

// Observe implements Observer.
func (f fan) Observe(e Event) {
	for _, o := range f.all {
		o.Observe(e)
	}
}

// Watch implements Watcher.
func (f fan) Watch(n Node) (stop func()) {
	var stops []func()
	for _, o := range f.all {
		if w, ok := o.(Watcher); ok {
			stops = append(stops, w.Watch(n))
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// Store implements Watcher.
func (f fan) Store(s *Store) {
	for _, o := range f.all {
		if w, ok := o.(Watcher); ok {
			w.Store(s)
		}
	}
}

type tracingFan struct{ fan }

// Send implements Tracer.
func (f tracingFan) Send(ctx context.Context, s Sending) (header map[string]string, end func(error)) {
	return f.tracer.Send(ctx, s)
}

// Anchor implements Tracer.
func (f tracingFan) Anchor(a Anchoring) Span { return f.tracer.Anchor(a) }

// Attempt implements Tracer.
func (f tracingFan) Attempt(ctx context.Context, a Trying) (context.Context, Span) {
	return f.tracer.Attempt(ctx, a)
}
