package runtime

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/dispatcher"
)

// LeakState is how far the watchdog has got with code that does not return.
type LeakState string

// The states, one after the other.
const (
	LeakWatching LeakState = "watching" // within the grace period
	LeakLeaked   LeakState = "leaked"   // past the grace period: counts toward Options.Leaks.MaxInstances
	LeakGaveUp   LeakState = "gave up"  // leaked, and no longer interrupted
)

// The kinds of LeakedWork.
const (
	LeakedActivity   = "activity"   // an attempt ignores the end of its context
	LeakedCompletion = "completion" // a function given to OnComplete does not return
	LeakedTurn       = "turn"       // orchestration code does not return to the engine
	LeakedEviction   = "eviction"   // a deferred function of orchestration code does not return
)

// LeakedWork is user code that should have returned and has not: a cancelled activity, a stuck turn, a deferred function that hangs.
type LeakedWork struct {
	Kind       string // LeakedActivity, LeakedCompletion, LeakedTurn or LeakedEviction
	Name       string // of the activity or orchestration
	InstanceID string
	Execution  int64
	Attempt    int // of an activity or completion; 0 for others
	State      LeakState
	Cause      string    // why it should have returned
	Since      time.Time // when it was cancelled or abandoned
	Interrupts int       // rounds of interrupts so far; see activity.OnInterrupt
	Stack      string    // of its goroutine, no older than the last interrupt; "" if the goroutine has ended
}

// String returns all but the stack, in one line.
func (w *LeakedWork) String() string {
	attempt := ""
	if w.Attempt > 0 {
		attempt = fmt.Sprintf(", attempt %d", w.Attempt)
	}
	return fmt.Sprintf("%s %q of instance %q%s: %s for %v (%s)",
		w.Kind, w.Name, w.InstanceID, attempt, w.State, time.Since(w.Since).Round(time.Millisecond), w.Cause)
}

// Leaked returns the user code of this node that should have returned and has not, the oldest first. If there is any, the call stops
// the world for a moment to take the stacks.
func (rt *Runtime) Leaked() []LeakedWork {
	found := rt.dispatcher.Leaked()
	all := make([]LeakedWork, len(found))
	for i := range found {
		all[i] = leakedWork(&found[i])
	}
	return all
}

func leakedWork(w *dispatcher.LeakedWork) LeakedWork {
	return LeakedWork{
		Kind: w.Kind, Name: w.Name, InstanceID: w.InstanceID, Execution: w.Execution, Attempt: w.Attempt, State: LeakState(w.State),
		Cause: w.Cause, Since: w.Since, Interrupts: w.Interrupts, Stack: w.Stack,
	}
}

// LeakedQuery is a query whose handler, or whose replay of the orchestration, should have returned within 2 s and has not. Leaked queries
// do not count toward Options.Leaks.MaxInstances, and never end a node.
type LeakedQuery struct {
	Orchestration string
	CodeVersion   string
	Query         string
	InstanceID    string
	Execution     int64
	Since         time.Time // when it was given up
	Stack         string    // of its goroutine; "" if the goroutine has just ended
}

// LeakedQueries returns the queries of this node that were given up and still run, the oldest first. If there are any, the call stops the
// world for a moment to take the stacks.
func (rt *Runtime) LeakedQueries() []LeakedQuery {
	found := rt.dispatcher.LeakedQueries()
	all := make([]LeakedQuery, len(found))
	for i := range found {
		all[i] = LeakedQuery(found[i])
	}
	return all
}
