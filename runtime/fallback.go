package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/orchestration"
)

// AddOrchestrationFallback registers a function for orchestrations of the given names that no node has registered, in any version. A name
// that ends in an asterisk stands for all that begin with what is before it: "mail.*". Of several fallbacks that fit a name, the one counts that
// tells the most of it.
//
// A node takes a name when instances of it have waited for 30 seconds while no live node lists it: nodes of another release must have the time
// to start. It looks every 5 seconds while a name waits. Once it has taken a name, its instances wait no longer. It gives the name back when a node lists
// it. A node with more than 200 names lists only a part of them, and may have registered each other name: then nothing is taken. A node
// takes 500 names at most.
//
// The function is orchestration code like any other, and gets the input as JSON. It runs only what a fallback has begun: such histories have
// a marker of the patch perdure.fallback. Other instances wait for a node that has registered their name. To register a name whose instances a
// fallback runs is a change of their code.
//
// Names that begin with "perdure." are refused, and so is "*".
func AddOrchestrationFallback(
	r *Registry, names []string, fn func(ctx *orchestration.Context, name string, input json.RawMessage) (json.RawMessage, error),
) error {
	if r == nil || fn == nil {
		return r.refuse("orchestration fallback", strings.Join(names, ", "), errNoFunction)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list, err := fallback.AddOrchestrations(r.orchestrationFallbacks, names, bind.OrchestrationFallback(fn))
	if err != nil {
		return r.refuseLocked("orchestration fallback", strings.Join(names, ", "), err)
	}
	r.orchestrationFallbacks = list
	return nil
}

// AddActivityFallback is AddOrchestrationFallback for activities of the default queue, or of the one that OnQueue names. The other options
// of AddActivity are refused. Tasks wait as instances do. The context is that of an activity of the name: activity.GetInfo has it, and
// heartbeats and pending completion work as ever. Calls by function need a registered function, so only calls by name come to a fallback.
func AddActivityFallback(
	r *Registry, names []string, fn func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error), opts ...RegisterOption,
) error {
	settings, err := settingsOf(opts)
	if queue := settings.queue; err == nil {
		if settings.queue = ""; settings != (activitySettings{}) {
			err = errors.New("only the option OnQueue fits a fallback: leave the others out")
		}
		settings.queue = queue
	}
	if fn == nil {
		err = errNoFunction
	}
	if r == nil || err != nil {
		return r.refuse("activity fallback", strings.Join(names, ", "), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list, err := fallback.AddActivities(r.activityFallbacks, settings.queue, names, bind.ActivityFallback(fn))
	if err != nil {
		return r.refuseLocked("activity fallback", strings.Join(names, ", "), err)
	}
	r.activityFallbacks = list
	return nil
}

var errNoFunction = errors.New("the function is nil: give one")

// fallbacks returns the fallbacks of the queues that the node serves. It needs r.mu.
func (r *Registry) fallbacks(serves func(queue string) bool) *fallback.Set {
	return fallback.New(r.orchestrationFallbacks, fallback.OnQueues(r.activityFallbacks, serves))
}
