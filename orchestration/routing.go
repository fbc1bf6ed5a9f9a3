package orchestration

import (
	"fmt"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// Priorities of activities.
const (
	PriorityHighest = provider.PriorityHighest
	PriorityDefault = provider.PriorityDefault
	PriorityLowest  = provider.PriorityLowest
)

// WithPriority puts the activity before those of its queue that have a larger number, 1 to 5; without it the number is 3.
// Each step is worth an hour of waiting, so that nothing starves: what is an hour older goes first in spite of one step.
func WithPriority(priority int) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		if priority < PriorityHighest || priority > PriorityLowest {
			return fmt.Errorf("priority is %d: give %d (first) to %d", priority, PriorityHighest, PriorityLowest)
		}
		call.Priority = int64(priority)
		return nil
	})
}

// WithFairnessKey lets the activities of its queue that wait take turns by key, such as one for each tenant: of a key that floods the
// queue one waits behind the other, and those of other keys are not held up by the flood.
// A key has up to 512 bytes. Activities without one go by age.
func WithFairnessKey(key string) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		call.FairnessKey = key
		return check.Name("fairness key", key)
	})
}

// WithSession runs the activity on the node that holds the session, so that a group of them finds what earlier ones have left there: files,
// caches, connections. The node that takes the first activity of a session holds it, until nothing of it was run for Options.Sessions.Idle; if the node
// is lost or shut down, another one takes the session over with the next activity, and starts with nothing: an activity must check what it
// finds. An ID has up to 512 bytes and is one for the whole store; [Context.NewUUID] makes one that is not used elsewhere.
func WithSession(id string) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		call.Session = id
		return check.Name("session", id)
	})
}
