package runtime

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/funcname"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// withTest returns the registry with the functions that a test registers or replaces, and tells the test what is registered then. It is r
// itself in production.
func (r *Registry) withTest(ctx context.Context) (*Registry, error) {
	test := bubble.Of(ctx)
	if test == nil {
		return r, nil
	}
	r.mu.Lock()
	n := &Registry{errors: r.errorsLocked(), problems: slices.Clone(r.problems)}
	n.orchestrationFallbacks, n.activityFallbacks = r.orchestrationFallbacks, r.activityFallbacks
	n.interceptors, n.attempts = slices.Clone(r.interceptors), slices.Clone(r.attempts)
	n.orchestrations, n.activities = maps.Clone(r.orchestrations), maps.Clone(r.activities)
	r.mu.Unlock()
	if n.orchestrations == nil {
		n.orchestrations = make(map[provider.Capability]orchestrationEntry)
	}
	if n.activities == nil {
		n.activities = make(map[activityName]activityEntry)
	}
	for i := range test.Orchestrations {
		n.addOfTest(&test.Orchestrations[i])
	}
	for i := range test.Orchestrations {
		n.replaceOrchestration(&test.Orchestrations[i])
	}
	for i := range test.Activities {
		if err := n.replaceActivity(&test.Activities[i]); err != nil {
			return nil, err
		}
	}
	if test.Registered != nil {
		test.Registered(n.names())
	}
	if test.Fallbacks != nil {
		all := n.fallbacks(func(string) bool { return true })
		test.Fallbacks(bubble.Fallbacks{Orchestration: all.Body, Activity: func(of bubble.Name) func(context.Context, []byte) ([]byte, error) {
			return all.Activity(of.Queue, of.Name)
		}})
	}
	return n, nil
}

// addOfTest adds an orchestration that the registry lacks.
func (r *Registry) addOfTest(o *bubble.Orchestration) {
	if _, ok := r.orchestrations[o.Capability]; o.Absent && !ok {
		r.orchestrations[o.Capability] = orchestrationEntry{o.Body, o.Pointer, o.Code}
	}
}

// replaceOrchestration registers a substitute. Functions that were registered under the name may still be called: the substitute runs.
func (r *Registry) replaceOrchestration(o *bubble.Orchestration) {
	if o.Absent {
		return
	}
	for of, entry := range r.orchestrations {
		if of.Name == o.Name && (o.Every || of.CodeVersion == o.CodeVersion) {
			entry.body = o.Body
			r.orchestrations[of] = entry
		}
	}
	entry := r.orchestrations[o.Capability]
	if entry.body = o.Body; o.Pointer != 0 {
		entry.pointer, entry.code = o.Pointer, o.Code
	}
	r.orchestrations[o.Capability] = entry
}

// replaceActivity registers a substitute on the queues of the function that it replaces.
func (r *Registry) replaceActivity(a *bubble.Activity) error {
	replaced := false
	for key, entry := range r.activities {
		if key.name == a.Name.Name && (a.Queue == "" || key.queue == a.Queue) && (a.Code == 0 || entry.is(a.Code)) {
			entry.fn, replaced = a.Fn, true
			r.activities[key] = entry
		}
	}
	if replaced {
		return nil
	}
	for key, entry := range r.activities {
		if key.name != a.Name.Name && a.Code == a.Pointer && entry.symbol != "" && entry.is(a.Code) { // code cannot call it by that name
			return refused("substitute of activity", a.Name.Name, fmt.Errorf("the method is registered as %s: "+
				"replace it by that name, or give what activity.Define returns for that name", check.Quote(key.name)))
		}
	}
	key := activityName{cmp.Or(a.Queue, orchestration.DefaultQueue), a.Name.Name}
	if _, taken := r.activities[key]; taken {
		return refused("substitute of activity", a.Name.Name, fmt.Errorf("queue %s has another function of that name", check.Quote(key.queue)))
	}
	r.activities[key] = activityEntry{fn: a.Fn, pointer: a.Pointer, code: a.Code}
	return nil
}

// is reports whether an activity has the code.
func (e *activityEntry) is(code uintptr) bool {
	if e.symbol != "" {
		return funcname.IsMethodValue(code) && funcname.Symbol(code) == e.symbol
	}
	return e.code == code
}

// names returns what is registered.
func (r *Registry) names() (orchestrations []bubble.Orchestration, activities []bubble.Name) {
	for of, entry := range r.orchestrations {
		orchestrations = append(orchestrations, bubble.Orchestration{Capability: of, Code: entry.code})
	}
	for key := range r.activities {
		activities = append(activities, bubble.Name{Queue: key.queue, Name: key.name})
	}
	return orchestrations, activities
}
