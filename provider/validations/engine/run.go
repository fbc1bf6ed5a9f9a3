package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// A scenario is something that a service does.
type scenario struct {
	name    string
	carries []string // methods of the contract that it stands on, some with the field of the request
	run     func(*trial)
	two     bool // it uses two views of the store
	again   bool // activities may run again: nodes are lost in it
}

// scenarios lists all of them.
func scenarios() []scenario {
	var all []scenario
	for _, group := range [][]scenario{
		stepScenarios(), activityScenarios(), timeScenarios(), eventScenarios(), childScenarios(), reachScenarios(), continueScenarios(),
		endScenarios(), steerScenarios(), nodeScenarios(), clientScenarios(), faultScenarios(), loadScenarios(),
	} {
		all = append(all, group...)
	}
	return all
}

// A mode is a way in which executions are held between turns, or the fast paths that nodes do without.
type mode struct {
	name string
	opts runtime.Options
	off  fastpath.Set
}

func modes() []mode {
	return []mode{
		{name: "cached"},
		{name: "uncached", opts: runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}},
		{name: "evicted", opts: runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}},
	}
}

type options struct {
	limit time.Duration
	skip  map[string]string
	peer  func(*testing.T, provider.Provider) provider.Provider
}

// Option changes how the scenarios run.
type Option func(*options)

// Limit is how long one scenario may take before it counts as hanging; 30 seconds if not given.
func Limit(d time.Duration) Option { return func(o *options) { o.limit = d } }

// Skip leaves out a scenario, or "scenario/mode", for a reason that the test log shows.
func Skip(name, reason string) Option { return func(o *options) { o.skip[name] = reason } }

// Peer opens the store of a provider that open made a second time, as another process would. Scenarios with
// two nodes or two clients give it to the second one; without it both share the first provider.
func Peer(open func(t *testing.T, first provider.Provider) provider.Provider) Option {
	return func(o *options) { o.peer = open }
}

// Run runs all scenarios in all modes. The function open makes a fresh, empty provider for each and cleans
// up after it through t, as for validations.Run.
func Run(t *testing.T, open func(t *testing.T) provider.Provider, opts ...Option) {
	t.Helper()
	o := options{limit: 30 * time.Second, skip: map[string]string{}}
	for _, opt := range opts {
		opt(&o)
	}
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			for _, m := range modes() {
				t.Run(m.name, func(t *testing.T) { runOne(t, s, m, open, &o) })
			}
		})
	}
}

func runOne(t *testing.T, s scenario, m mode, open func(t *testing.T) provider.Provider, o *options) {
	t.Helper()
	for _, name := range []string{s.name, s.name + "/" + m.name} {
		if reason, ok := o.skip[name]; ok {
			t.Skip(reason)
		}
	}
	t.Parallel()
	store := open(t)
	other := store
	if s.two && o.peer != nil {
		other = o.peer(t, store)
	}
	failures, lacks := execute(t.Context(), s, m, store, other, o.limit)
	if len(failures) == 0 && lacks != nil {
		t.Skip(lacks)
	}
	for _, f := range failures {
		t.Error(f)
	}
	if len(failures) > 0 {
		t.Errorf("%s with %s executions stands on %s: see the comments of these methods in package provider",
			s.name, m.name, strings.Join(s.carries, ", "))
	}
}

// aftermath returns how long what a scenario has left behind may take to come to an end, and the check of the store after it. A far
// store gets more, as its scenarios do.
func aftermath(limit time.Duration) time.Duration { return limit / 3 }

// execute runs one scenario. It returns what failed, and the error of a call that the store does not have. It knows no testing.T, so that the
// scenarios can be tested themselves.
func execute(parent context.Context, s scenario, m mode, store, other provider.Provider, limit time.Duration) (failures []string, lacks error) {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	t := newTrial(ctx, m, store, other)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				t.errorf("panic: %v", r)
			}
		}()
		s.run(t)
		t.settle()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		t.errorf("hangs: not over after %v%s", limit, t.unfinished(parent, aftermath(limit)))
	}
	cancel()
	patience, stop := context.WithTimeout(parent, aftermath(limit))
	defer stop()
	select {
	case <-done:
	case <-patience.Done():
	}
	t.stopNodes(patience)
	if len(t.seen()) == 0 && t.lacks == nil { // else the scenario may have left the store in the middle of something
		t.check(patience, s)
	}
	return t.seen(), t.lacks
}
