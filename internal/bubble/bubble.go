// Package bubble carries what package orchestrationtest changes in a node, in a replay and in calls of a client: functions that stand in
// for others, and waits that no timer ends. The settings travel in a context, as the paths of package fastpath do.
package bubble

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Settings are what a test changes. They must not change once a context has them.
type Settings struct {
	Orchestrations []Orchestration // beside those of the registry
	Activities     []Activity      // beside those of the registry

	// Registered gets to know what a node can run, when it starts; nil: nobody wants to know. Orchestrations have no more than their Code.
	Registered func(orchestrations []Orchestration, activities []Name)
	// Fallbacks gets the fallbacks of a node when it starts; nil: nobody wants to know. They get their names from the test, not from a timer.
	Fallbacks func(f Fallbacks)
	// Replayed gets each execution that was replayed without a fault, before its code is unwound; nil: nobody wants to see it.
	Replayed func(x *replay.Execution)
	// Changes tell that records of the store have changed. With them no timer of a node runs while the node has nothing to do; nil: its
	// timers are those of production.
	Changes *Changes
	// Orders is Changes for a node whose timers are those of production: it also reads its orders when records have changed; nil: only its
	// timer lets it read them.
	Orders *Changes
}

// Fallbacks returns the code for names that are not registered; nil: there is none.
type Fallbacks struct {
	Orchestration func(of provider.Capability) replay.Body
	Activity      func(of Name) func(ctx context.Context, input []byte) (output []byte, err error)
}

// Name is an activity of a queue.
type Name struct{ Queue, Name string }

// Orchestration is code that a test registers. The pointers are those of package runtime: what a call names, and the code behind Define.
type Orchestration struct {
	provider.Capability

	Body    replay.Body
	Pointer uintptr // of the function that calls name; 0: they name it by its name only
	Code    uintptr
	Absent  bool // it counts only if the registry has no such version; otherwise it replaces that
	Every   bool // it replaces all other registered versions of the name, too
}

// Activity is an activity that a test registers. It replaces those of its name on Queue, or with Queue "" on all queues.
type Activity struct {
	Name

	Fn      func(ctx context.Context, input []byte) (output []byte, err error) // see bind.ActivityFunc
	Pointer uintptr                                                            // of the function that calls name; 0: they name it by its name only
	Code    uintptr                                                            // replaces only that code; 0: any
}

type key struct{}

// With returns a context that has the settings. Nil changes nothing.
func With(ctx context.Context, s *Settings) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, s)
}

// Of returns the settings of a context; nil: it has none.
func Of(ctx context.Context) *Settings {
	s, _ := ctx.Value(key{}).(*Settings)
	return s
}

// RecordChanges returns the changes of records that a node follows; nil: its timers are those of production. The settings may be nil.
func (s *Settings) RecordChanges() *Changes {
	if s == nil {
		return nil
	}
	return s.Changes
}

// OrderChanges returns the changes after which a node reads its orders beside its timer; nil: it has only that. The settings may be nil.
func (s *Settings) OrderChanges() *Changes {
	if s == nil {
		return nil
	}
	return s.Orders
}

type unboundedKey struct{}

// Unbounded reports whether a call of a store waits until there is work, its context ends or the store closes. Only contexts that Timeout
// has made for it do: a call with a time limit of another kind needs its answer within that.
func Unbounded(ctx context.Context) bool { return ctx.Value(unboundedKey{}) != nil }

// Timeout is context.WithTimeout for a call that waits for work. If no timers run, that call is unbounded.
func Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if Of(ctx).RecordChanges() != nil {
		return context.WithCancel(context.WithValue(ctx, unboundedKey{}, true))
	}
	return context.WithTimeout(ctx, d)
}

// Changes tell that something has changed, to any number of goroutines.
type Changes struct {
	mu   sync.Mutex
	next chan struct{}
}

// Next returns a channel that is closed at the next Notify.
func (c *Changes) Next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Notify tells of a change.
func (c *Changes) Notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}
