// Package fallback has the functions that a node runs for names which no node has registered. A store brings work by exact names only. So a node
// learns from the figures of the store which names wait, and asks for those that fit one of its fallbacks and that no live node lists.
package fallback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// Activity is an activity of a queue.
type Activity struct{ Queue, Name string }

// Orchestrations are code for orchestrations of many names.
type Orchestrations struct {
	names []pattern
	body  func(name string) replay.Body
}

// Activities are code for activities of many names.
type Activities struct {
	queue string
	names []pattern
	fn    func(name string) bind.ActivityFunc
}

// Set is the fallbacks of a registry, and the names that a node takes by them. A nil Set has none. The lists do not change any more when a node
// has the Set. Several goroutines may use it at once.
type Set struct {
	orchestrations []Orchestrations
	activities     []Activities
	taken          atomic.Pointer[Taken] // nil: nothing is

	mu   sync.Mutex
	wake map[*context.CancelCauseFunc]bool // of fetches that wait
}

// ErrOther is the cause of a context that Until has ended: the node takes other names.
var ErrOther = errors.New("the node takes other names")

// Until returns a context that also ends when the node takes other names than t. stop must be called.
func (s *Set) Until(ctx context.Context, t *Taken) (waiting context.Context, stop func()) {
	if s == nil {
		return ctx, func() {}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake == nil {
		s.wake = make(map[*context.CancelCauseFunc]bool)
	}
	s.wake[&cancel] = true
	if s.taken.Load() != t {
		cancel(ErrOther)
	}
	return waiting, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.wake, &cancel)
		cancel(nil)
	}
}

// Taken are the names that a node takes by its fallbacks. They do not change: a change makes another Taken.
type Taken struct {
	Orchestrations map[provider.Capability]bool // whose turns it runs
	Asked          map[provider.Capability]bool // whose questions it answers: all that have running instances
	Activities     map[Activity]bool
}

// New returns the fallbacks of a registry; nil: it has none.
func New(orchestrations []Orchestrations, activities []Activities) *Set {
	if len(orchestrations)+len(activities) == 0 {
		return nil
	}
	return &Set{orchestrations: slices.Clone(orchestrations), activities: slices.Clone(activities)}
}

// AddOrchestrations adds code for the names to a list. It refuses what cannot be a name, and names that the list has.
func AddOrchestrations(list []Orchestrations, names []string, body func(name string) replay.Body) ([]Orchestrations, error) {
	all, err := patternsOf(names)
	if err != nil {
		return list, err
	}
	for i := range list {
		if err := once(list[i].names, all); err != nil {
			return list, err
		}
	}
	return append(list, Orchestrations{all, body}), nil
}

// AddActivities adds code for the names of a queue to a list. It refuses what cannot be a name, and names that the list has.
func AddActivities(list []Activities, queue string, names []string, fn func(name string) bind.ActivityFunc) ([]Activities, error) {
	all, err := patternsOf(names)
	if err != nil {
		return list, err
	}
	for i := range list {
		if list[i].queue == queue {
			if err := once(list[i].names, all); err != nil {
				return list, err
			}
		}
	}
	return append(list, Activities{queue, all, fn}), nil
}

// OnQueues returns those of the list whose queues a node serves.
func OnQueues(list []Activities, serves func(queue string) bool) []Activities {
	return slices.DeleteFunc(slices.Clone(list), func(a Activities) bool { return !serves(a.queue) })
}

func once(has, adds []pattern) error {
	for _, p := range adds {
		if slices.Contains(has, p) {
			return fmt.Errorf("%q has a fallback already: give each name one", string(p))
		}
	}
	return nil
}

// best returns which pattern tells the most of a name; -1: none fits.
func best(names []pattern, name string) (length int) {
	length = -1
	for _, p := range names {
		if l, ok := p.fits(name); ok {
			length = max(length, l)
		}
	}
	return length
}

// Body returns the code of an orchestration; nil: no fallback fits. It says nothing of whether the node takes the name.
func (s *Set) Body(of provider.Capability) replay.Body {
	if s == nil {
		return nil
	}
	i, ok := longest(s.orchestrations, func(o *Orchestrations) int { return best(o.names, of.Name) })
	if !ok {
		return nil
	}
	return s.orchestrations[i].body(of.Name)
}

// Activity returns the code of an activity; nil: no fallback fits. It says nothing of whether the node takes the name.
func (s *Set) Activity(queue, name string) bind.ActivityFunc {
	if s == nil {
		return nil
	}
	i, ok := longest(s.activities, func(a *Activities) int {
		if a.queue != queue {
			return -1
		}
		return best(a.names, name)
	})
	if !ok {
		return nil
	}
	return s.activities[i].fn(name)
}

// longest returns the item for which length is the highest, and false if none is above -1.
func longest[T any](list []T, length func(item *T) int) (index int, ok bool) {
	most := -1
	for i := range list {
		if l := length(&list[i]); l > most {
			index, most = i, l
		}
	}
	return index, most >= 0
}

// Queues returns the queues of its activities, in order.
func (s *Set) Queues() (queues []string) {
	if s == nil {
		return nil
	}
	for i := range s.activities {
		queues = append(queues, s.activities[i].queue)
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// Now returns what the node takes; nil: nothing. The same pointer means the same names.
func (s *Set) Now() *Taken {
	if s == nil {
		return nil
	}
	return s.taken.Load()
}

// Take sets what the node takes, and ends fetches that wait for less.
func (s *Set) Take(t *Taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken.Store(t)
	for wake := range s.wake {
		(*wake)(ErrOther)
	}
}

// Patterns returns the names of activities that its fallbacks fit, by queue and as they were given.
func (s *Set) Patterns() map[string][]string {
	if s == nil {
		return nil
	}
	all := make(map[string][]string)
	for i := range s.activities {
		for _, p := range s.activities[i].names {
			all[s.activities[i].queue] = append(all[s.activities[i].queue], string(p))
		}
	}
	return all
}

// Runs reports whether the node takes an orchestration.
func (t *Taken) Runs(of provider.Capability) bool { return t != nil && t.Orchestrations[of] }

// Serves reports whether the node takes an activity.
func (t *Taken) Serves(queue, name string) bool {
	return t != nil && t.Activities[Activity{queue, name}]
}

// Capabilities returns the orchestrations whose turns the node runs, by name and version.
func (t *Taken) Capabilities() []provider.Capability {
	if t == nil {
		return nil
	}
	return sorted(t.Orchestrations)
}

// Questions returns the orchestrations whose questions the node answers, by name and version.
func (t *Taken) Questions() []provider.Capability {
	if t == nil {
		return nil
	}
	return sorted(t.Asked)
}

func sorted(all map[provider.Capability]bool) []provider.Capability {
	return slices.SortedFunc(maps.Keys(all), func(a, b provider.Capability) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.CodeVersion, b.CodeVersion))
	})
}

// Queues returns the activities by queue, all in order.
func (t *Taken) Queues() (queues []provider.QueueFilter) {
	if t == nil {
		return nil
	}
	all := slices.SortedFunc(maps.Keys(t.Activities), func(a, b Activity) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Name, b.Name))
	})
	for _, a := range all {
		if n := len(queues); n == 0 || queues[n-1].Queue != a.Queue {
			queues = append(queues, provider.QueueFilter{Queue: a.Queue})
		}
		last := &queues[len(queues)-1]
		last.Names = append(last.Names, a.Name)
	}
	return queues
}
