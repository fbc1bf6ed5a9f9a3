package leak

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/failure"
)

// State is how far the watchdog is with code that does not return.
type State string

// The states, one after the other.
const (
	Watching State = "watching" // within the grace period
	Leaked   State = "leaked"   // past the grace period: counts toward MaxLeaked
	GaveUp   State = "gave up"  // leaked, and no longer interrupted
)

// The kinds of work that may leak.
const (
	Activity   = "activity"   // an attempt ignores the end of its context
	Completion = "completion" // a function given to OnComplete does not return
	Turn       = "turn"       // orchestration code does not return to the engine
	Eviction   = "eviction"   // a deferred function of orchestration code does not return
)

// Work is user code that should have returned and has not.
type Work struct {
	Kind       string // Activity, Completion, Turn or Eviction
	Name       string // of the activity or orchestration
	InstanceID string
	Execution  int64
	Attempt    int // of an activity or completion
	State      State
	Cause      string    // why it should have returned
	Since      time.Time // when it was told to return, or was abandoned
	Interrupts int       // rounds of interrupts so far
	Stack      string    // of its goroutine, no older than the last interrupt; "" if the goroutine has ended
}

// String returns all but the stack, in one line.
func (w *Work) String() string {
	attempt := ""
	if w.Attempt > 0 {
		attempt = fmt.Sprintf(", attempt %d", w.Attempt)
	}
	return fmt.Sprintf("%s %q of instance %q%s: still running %v after it should have returned (%s)",
		w.Kind, w.Name, w.InstanceID, attempt, time.Since(w.Since).Round(time.Millisecond), w.Cause)
}

// attributes name the work in a log record.
func (w *Work) attributes() []any {
	if w.Attempt > 0 {
		return []any{"kind", w.Kind, "activity", w.Name, "instance", w.InstanceID, "attempt", w.Attempt, "cause", w.Cause}
	}
	return []any{"kind", w.Kind, "orchestration", w.Name, "instance", w.InstanceID, "cause", w.Cause}
}

// maxNamed bounds how many leaks an error names.
const maxNamed = 20

// joined returns an error that names all that still runs; nil if nothing does.
func joined(all []Work, hooks []string) error {
	var named []error
	for i := range all {
		named = append(named, fmt.Errorf("%w: %s", failure.ErrLeaked, &all[i]))
	}
	for _, hook := range hooks {
		named = append(named, fmt.Errorf("%w: %s", failure.ErrLeaked, hook))
	}
	if more := len(named) - maxNamed; more > 0 {
		named = append(named[:maxNamed], fmt.Errorf("%w: %d more", failure.ErrLeaked, more))
	}
	return errors.Join(named...)
}
