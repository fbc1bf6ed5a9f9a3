package invariant

import (
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// stuck reports operations that the instance awaits in vain. A blocked instance waits for its code, or a person.
func (l *instanceCheck) stuck(ctx context.Context) error {
	if l.in.Status.Ended() || l.in.Blocked != nil {
		return nil
	}
	n := l.in.Execution
	switch {
	case l.current.endedAs() != 0:
		return nil // a missing outcome
	case l.current.length == 0 && len(l.dependent.messages) == 0 && l.in.ReadyAt == 0:
		l.addf(Stuck, n, 0, "it has not started, and its start message is gone")
	case l.current.continued && !l.current.opened && !l.has(history.KindExecutionOpened) && l.in.ReadyAt == 0:
		l.addf(Stuck, n, 0, "its code has not begun, and the message that lets it begin is gone")
	}
	coming := l.coming()
	for _, id := range slices.Sorted(maps.Keys(l.current.calls)) {
		c := l.current.calls[id]
		if c.state != pending || c.ending || coming[id] {
			continue
		}
		switch c.kind {
		case history.KindActivityScheduled:
			l.addf(Stuck, n, id, "it awaits an activity, and there is neither its task nor its result")
		case history.KindTimerCreated:
			l.addf(Stuck, n, id, "it awaits a timer that is not there")
		case history.KindDetachedStarted, history.KindEventSent, history.KindCancelSent:
			l.addf(Stuck, n, id, "it awaits the reply to what it started or sent, and there is none")
		default:
			if err := l.awaitsChild(ctx, id, c.child); err != nil {
				return err
			}
		}
	}
	return nil
}

// coming returns the calls of the current execution that have a task, an outcome, or a reminder to look for them.
func (l *instanceCheck) coming() map[int64]bool {
	set := make(map[int64]bool, len(l.dependent.messages)+len(l.dependent.tasks))
	for _, m := range l.dependent.messages {
		if (m.Execution == l.in.Execution || history.Kind(m.Kind) == history.KindReplyReceived) && settles(m) {
			set[m.EventID] = true
		}
	}
	for _, t := range l.dependent.tasks {
		if t.Execution == l.in.Execution {
			set[t.EventID] = true
		}
	}
	return set
}

// settles reports whether a message brings the outcome of a call.
func settles(m provider.MessageRow) bool {
	switch history.Kind(m.Kind) {
	case history.KindActivityCompleted, history.KindActivityFailed, history.KindTimerFired,
		history.KindChildCompleted, history.KindChildFailed, history.KindActivityCancelRequested, history.KindReplyReceived:
		return true
	default:
		return false
	}
}
