package dispatcher

import (
	"errors"
	"fmt"
	"time"
)

// ErrLeaked is in the answer of Shutdown if user code did not end in time; the error names
// it. Its leases were handed back all the same.
var ErrLeaked = errors.New("work was left running")

// ErrTooManyLeaks is what OnFatal is told: more instances than MaxLeaked have code that does
// not come back.
var ErrTooManyLeaks = errors.New("too much work does not come back")

// LeakState says how far the node is with code that does not come back.
type LeakState string

// The states, one after the other.
const (
	LeakWatching LeakState = "watching" // it has the grace period
	LeakLeaked   LeakState = "leaked"   // that is over: it counts toward MaxLeaked
	LeakGaveUp   LeakState = "gave up"  // leaked, and no longer interrupted
)

// The kinds of work that may leak.
const (
	LeakedActivity   = "activity"   // an attempt does not obey the end of its context
	LeakedCompletion = "completion" // what an activity handed over for its completion does not return
	LeakedTurn       = "turn"       // orchestration code does not come back to the engine
	LeakedEviction   = "eviction"   // a deferred function of orchestration code does not return
)

// LeakedWork is user code that should have come back and has not.
type LeakedWork struct {
	Kind       string // LeakedActivity, LeakedCompletion, LeakedTurn or LeakedEviction
	Name       string // of the activity or orchestration
	InstanceID string
	Execution  int64
	Attempt    int // of an activity or completion
	State      LeakState
	Cause      string    // why it should have come back
	Since      time.Time // when it was told to, or was given up
	Interrupts int       // how often the functions of OnInterrupt were due
	Stack      string    // of its goroutine, not older than its last interrupt; "" if that is gone
}

// String tells all but the stack, in a line.
func (w *LeakedWork) String() string {
	attempt := ""
	if w.Attempt > 0 {
		attempt = fmt.Sprintf(", attempt %d", w.Attempt)
	}
	return fmt.Sprintf("%s %q of instance %q%s: not back %v after it should have (%s)",
		w.Kind, w.Name, w.InstanceID, attempt, time.Since(w.Since).Round(time.Millisecond), w.Cause)
}

// attributes name the work in a record of the log.
func (w *LeakedWork) attributes() []any {
	if w.Attempt > 0 {
		return []any{"kind", w.Kind, "activity", w.Name, "instance", w.InstanceID, "attempt", w.Attempt, "cause", w.Cause}
	}
	return []any{"kind", w.Kind, "orchestration", w.Name, "instance", w.InstanceID, "cause", w.Cause}
}

// maxNamedLeaks bounds how many leaks an error names.
const maxNamedLeaks = 20

// leakError joins what was left running; nil if nothing was.
func leakError(all []LeakedWork, hooks []string) error {
	var named []error
	for i := range all {
		named = append(named, fmt.Errorf("%w: %s", ErrLeaked, &all[i]))
	}
	for _, hook := range hooks {
		named = append(named, fmt.Errorf("%w: %s", ErrLeaked, hook))
	}
	if more := len(named) - maxNamedLeaks; more > 0 {
		named = append(named[:maxNamedLeaks], fmt.Errorf("%w: %d more", ErrLeaked, more))
	}
	return errors.Join(named...)
}
