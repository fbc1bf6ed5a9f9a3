package invariant

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// inbox compares the counters of the row with the inbox.
func (l *instanceCheck) inbox() {
	count := int64(len(l.dependent.messages))
	var first provider.Time
	if count > 0 {
		first = l.dependent.messages[0].VisibleAt
	}
	ready := l.in.ReadyAt == first
	if l.in.ReadyAt != 0 && (first == 0 || l.in.ReadyAt < first) {
		ready = l.wasReset() || l.wasForked()
	}
	if l.in.InboxMessages != count || !ready {
		l.addf(ReadyTime, 0, 0, "the row says %d messages, ready %s; the inbox has %d, ready %s",
			l.in.InboxMessages, at(l.in.ReadyAt), count, at(first))
	}
}

func (l *instanceCheck) has(kind history.Kind) bool {
	return slices.ContainsFunc(l.dependent.messages, func(m provider.MessageRow) bool { return history.Kind(m.Kind) == kind })
}

func at(t provider.Time) string {
	if t == 0 {
		return "never"
	}
	return t.Std().Format("2006-01-02T15:04:05.000000Z")
}

// wasReset reports whether a reset opened the current execution: it is ready at once, without a message.
func (l *instanceCheck) wasReset() bool {
	if l.in.Execution == 1 || l.in.Status.Ended() {
		return false
	}
	i := slices.IndexFunc(l.dependent.executions, func(x provider.ExecutionRow) bool { return x.Execution == l.in.Execution-1 })
	return i >= 0 && l.dependent.executions[i].Status != provider.StatusContinuedAsNew
}

// wasForked reports whether a fork opened the current execution, whose code has not run yet: it is ready as after a reset.
func (l *instanceCheck) wasForked() bool {
	return l.current != nil && l.current.last == history.KindForkPoint && !l.in.Status.Ended()
}

// leftovers reports tasks, timers and messages that nothing awaits any more. A result that is not awaited is no
// leftover while the instance runs: its next turn drops it.
func (l *instanceCheck) leftovers() {
	ended := l.in.Status.Ended()
	for _, t := range l.dependent.tasks {
		switch c := l.current.calls[t.EventID]; {
		case ended:
			l.addf(Leftover, t.Execution, t.EventID, "an activity task, and the instance is %s", l.in.Status)
		case t.Execution != l.in.Execution:
			l.addf(Leftover, t.Execution, t.EventID, "an activity task of another execution than the current one, which is %d", l.in.Execution)
		case c == nil || c.kind != history.KindActivityScheduled:
			l.addf(Leftover, t.Execution, t.EventID, "an activity task that no event has scheduled")
		case c.state == answered:
			l.addf(Leftover, t.Execution, t.EventID, "an activity task, and its result is in the history")
		case c.state == givenUp && !c.abandoned && !t.CancelRequested:
			l.addf(Leftover, t.Execution, t.EventID, "an activity task that was given up, and was not asked to stop")
		}
	}
	for _, m := range l.dependent.messages {
		kind := history.Kind(m.Kind)
		switch c := l.current.calls[m.EventID]; {
		case ended:
			l.addf(Leftover, m.Execution, m.EventID, "a message (%s), and the instance is %s", kind, l.in.Status)
		case !m.Timer:
		case m.Execution != l.in.Execution:
			l.addf(Leftover, m.Execution, m.EventID, "a timer of another execution than the current one, which is %d", l.in.Execution)
		case c == nil || c.kind != history.KindTimerCreated:
			l.addf(Leftover, m.Execution, m.EventID, "a timer that no event has created")
		case c.state != pending:
			l.addf(Leftover, m.Execution, m.EventID, "a timer that was answered or cancelled before")
		}
	}
}
