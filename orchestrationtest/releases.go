package orchestrationtest

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// release is code, and the node that runs it. If a release gets more code, another node takes the place of that, which finishes what it has
// begun.
type release struct {
	registry *runtime.Registry
	current  *node // takes work; nil: none does
	begun    bool  // a node of it has started: only a restart starts another one when that was killed
	stopped  bool  // for good
	kills    []*armedKill
	known    map[provider.Capability]uintptr
	served   map[bubble.Name]bool
	others   bubble.Fallbacks // of the node that has started last
}

// code is what a node runs.
type code struct {
	registry *runtime.Registry
	settings *bubble.Settings
}

// current returns the settings of a node that would start now.
func (n *nodes) current() *bubble.Settings {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.settings
	return &s
}

// codes returns the code of all releases, the newest first.
func (n *nodes) codes() (all []code) {
	settings := n.current()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range slices.Backward(n.releases) {
		all = append(all, code{r.registry, settings})
	}
	return all
}

// all returns all releases.
func (n *nodes) all() []*release {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.releases)
}

// register notes what a release can run.
func (n *nodes) register(r *release, orchestrations []bubble.Orchestration, activities []bubble.Name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.known, r.served = make(map[provider.Capability]uintptr), make(map[bubble.Name]bool)
	for i := range orchestrations {
		r.known[orchestrations[i].Capability] = orchestrations[i].Code
	}
	for _, a := range activities {
		r.served[a] = true
	}
}

// runs reports whether a release can run an orchestration.
func (n *nodes) runs(of provider.Capability) bool {
	return n.any(func(r *release) bool { _, ok := r.known[of]; return ok })
}

// serves reports whether a release can run an activity.
func (n *nodes) serves(name bubble.Name) bool {
	return n.any(func(r *release) bool { return r.served[name] })
}

func (n *nodes) any(can func(r *release) bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.releases, func(r *release) bool { return !r.stopped && can(r) })
}

// fallback returns what runs an orchestration that no release has registered, and false if nothing does.
func (n *nodes) fallback(of provider.Capability) (bubble.Orchestration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range slices.Backward(n.releases) {
		if r.stopped || r.others.Orchestration == nil {
			continue
		}
		if body := r.others.Orchestration(of); body != nil {
			return bubble.Orchestration{Capability: of, Body: body, Absent: true}, true
		}
	}
	return bubble.Orchestration{}, false
}

// activityFallback is fallback for an activity.
func (n *nodes) activityFallback(of bubble.Name) (bubble.Activity, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range slices.Backward(n.releases) {
		if r.stopped || r.others.Activity == nil {
			continue
		}
		if fn := r.others.Activity(of); fn != nil {
			return bubble.Activity{Name: of, Fn: fn}, true
		}
	}
	return bubble.Activity{}, false
}

// substitute returns what replaces all versions of an orchestration, and false if nothing does.
func (n *nodes) substitute(name string) (bubble.Orchestration, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, o := range slices.Backward(n.settings.Orchestrations) {
		if !o.Absent && o.Every && o.Name == name {
			return o, true
		}
	}
	return bubble.Orchestration{}, false
}

// check refuses code that all releases know as another function, unless a substitute runs in its place.
func (n *nodes) check(of provider.Capability, code uintptr) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.settings.Orchestrations {
		o := &n.settings.Orchestrations[i]
		if !o.Absent && o.Name == of.Name && (o.Every || o.CodeVersion == of.CodeVersion) {
			return nil
		}
	}
	other := false
	for _, r := range n.releases {
		switch known, ok := r.known[of]; {
		case ok && (known == code || known == 0): // a model runs whatever is called under its names
			return nil
		case ok:
			other = true
		}
	}
	if other {
		return fmt.Errorf("%s is another function already: give one of them another name with Define", check.Quote(of.Name))
	}
	return nil
}
