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

// WithPriority puts the activity before those of its queue with a larger number, 1 to 5; the default is 3. Each step is
// worth an hour of waiting, so that nothing starves. An activity that is an hour older goes first in spite of one step.
func WithPriority(priority int) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		if priority < PriorityHighest || priority > PriorityLowest {
			return fmt.Errorf("priority is %d: give %d (first) to %d", priority, PriorityHighest, PriorityLowest)
		}
		call.Priority = int64(priority)
		return nil
	})
}

// WithFairnessKey lets the waiting activities of its queue take turns by key, such as one for each tenant. Activities of a key
// that floods the queue wait for each other and do not delay those of other keys. A key has up to 512 bytes. Activities without
// a key go by age.
func WithFairnessKey(key string) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		call.FairnessKey = key
		return check.Name("fairness key", key)
	})
}

// WithSession runs the activity on the node that holds the session. There it finds the files, caches and connections
// that earlier activities of the session left. The node that takes the first activity of a session holds it until the
// instance has ended, until [EndSession], or until it has been idle for Options.Sessions.Idle. A session that several
// instances use ends with none of them. If the node is lost or shut down, another one takes the session over with
// the next activity. It starts with nothing: an activity must check what it finds. An ID has up to 512 bytes and is
// valid for the whole store; [Context.NewUUID] makes a unique one.
func WithSession(id string) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		call.Session = id
		return check.Name("session", id)
	})
}
