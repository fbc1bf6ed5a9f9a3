package invariant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// inbox compares what the row says about the inbox with the inbox.
func (l *look) inbox() {
	n := int64(len(l.hang.messages))
	if l.in.InboxMessages != n {
		l.add(ReadyTime, 0, 0, "the row says %d messages, %d are there", l.in.InboxMessages, n)
	}
	var first provider.Time
	if n > 0 {
		first = l.hang.messages[0].VisibleAt
	}
	switch {
	case l.in.ReadyAt == first:
	case l.in.ReadyAt != 0 && (first == 0 || l.in.ReadyAt < first) && l.wasReset():
	default:
		l.add(ReadyTime, 0, 0, "the row says %s, the earliest message is visible at %s", at(l.in.ReadyAt), at(first))
	}
}

func at(t provider.Time) string {
	if t == 0 {
		return "never"
	}
	return t.Std().Format("2006-01-02T15:04:05.000000Z")
}

// wasReset tells whether the current execution was opened by a reset: it is ready at once, without a message.
func (l *look) wasReset() bool {
	if l.in.Execution == 1 || l.in.Status.Ended() {
		return false
	}
	i := slices.IndexFunc(l.hang.executions, func(x provider.ExecutionRow) bool { return x.Execution == l.in.Execution-1 })
	return i >= 0 && l.hang.executions[i].Status != provider.StatusContinuedAsNew
}

// leftovers reports tasks, timers and messages that nothing awaits any more. A result that nobody
// awaits is none while the instance runs: its next turn drops it.
func (l *look) leftovers() {
	ended := l.in.Status.Ended()
	for _, t := range l.hang.tasks {
		switch c := l.now.calls[t.EventID]; {
		case ended:
			l.add(Leftover, t.Execution, t.EventID, "an activity task, and the instance is %s", l.in.Status)
		case t.Execution != l.in.Execution:
			l.add(Leftover, t.Execution, t.EventID, "an activity task of another execution than the current one, which is %d", l.in.Execution)
		case c == nil || c.kind != history.KindActivityScheduled:
			l.add(Leftover, t.Execution, t.EventID, "an activity task that no event has scheduled")
		case c.state == answered:
			l.add(Leftover, t.Execution, t.EventID, "an activity task, and its result is in the history")
		case c.state == givenUp && !t.CancelRequested:
			l.add(Leftover, t.Execution, t.EventID, "an activity task that was given up, and was not asked to stop")
		}
	}
	for _, m := range l.hang.messages {
		kind := history.Kind(m.Kind)
		switch c := l.now.calls[m.EventID]; {
		case ended:
			l.add(Leftover, m.Execution, m.EventID, "a message (%s), and the instance is %s", kind, l.in.Status)
		case !m.Timer:
		case m.Execution != l.in.Execution:
			l.add(Leftover, m.Execution, m.EventID, "a timer of another execution than the current one, which is %d", l.in.Execution)
		case c == nil || c.kind != history.KindTimerCreated:
			l.add(Leftover, m.Execution, m.EventID, "a timer that no event has created")
		case c.state != pending:
			l.add(Leftover, m.Execution, m.EventID, "a timer that was answered or cancelled before")
		}
	}
}

// stuck reports what the instance awaits in vain. A blocked instance waits for its code, or a person.
func (l *look) stuck(ctx context.Context) error {
	if l.in.Status.Ended() || l.in.Blocked != nil {
		return nil
	}
	n := l.in.Execution
	switch {
	case l.now.endedAs() != 0:
		return nil // a missing outcome
	case l.now.length == 0 && len(l.hang.messages) == 0 && l.in.ReadyAt == 0:
		l.add(Stuck, n, 0, "it has not started, and its start message is gone")
	case l.now.continued && !l.now.opened && !l.has(history.KindExecutionOpened) && l.in.ReadyAt == 0:
		l.add(Stuck, n, 0, "its code has not begun, and the message that lets it begin is gone")
	}
	came := make(map[int64]bool, len(l.hang.messages)+len(l.hang.tasks))
	for _, m := range l.hang.messages {
		came[m.EventID] = came[m.EventID] || m.Execution == n && answers(m)
	}
	for _, t := range l.hang.tasks {
		came[t.EventID] = came[t.EventID] || t.Execution == n
	}
	for _, id := range slices.Sorted(maps.Keys(l.now.calls)) {
		c := l.now.calls[id]
		if c.state != pending || came[id] {
			continue
		}
		switch c.kind {
		case history.KindActivityScheduled:
			l.add(Stuck, n, id, "it awaits an activity, and there is neither its task nor its result")
		case history.KindTimerCreated:
			l.add(Stuck, n, id, "it awaits a timer that is not there")
		default:
			if err := l.awaitsChild(ctx, id, c.child); err != nil {
				return err
			}
		}
	}
	return nil
}

// answers tells whether a message brings the answer to a call.
func answers(m provider.MessageRow) bool {
	switch history.Kind(m.Kind) {
	case history.KindActivityCompleted, history.KindActivityFailed, history.KindTimerFired,
		history.KindChildCompleted, history.KindChildFailed:
		return true
	default:
		return false
	}
}

func (l *look) has(kind history.Kind) bool {
	return slices.ContainsFunc(l.hang.messages, func(m provider.MessageRow) bool { return history.Kind(m.Kind) == kind })
}

// awaitsChild checks a child whose outcome has not come.
func (l *look) awaitsChild(ctx context.Context, event int64, key provider.UUID) error {
	n := l.in.Execution
	child, fault, err := l.c.instance(ctx, key)
	switch {
	case err != nil:
		return err
	case fault != nil: // it is reported itself
	case child == nil:
		l.add(Stuck, n, event, "it awaits the child %s, which is not there, nor its outcome", key)
	case child.Parent.Key != l.in.Key || child.Parent.Execution != n || child.Parent.EventID != event:
		l.add(ParentChild, n, event, "it awaits the child %q, whose parent is event %d of execution %d of %s",
			child.ID, child.Parent.EventID, child.Parent.Execution, child.Parent.Key)
	case child.Status.Ended():
		l.add(ParentChild, n, event, "it awaits the child %q, which is %s, and the outcome did not come", child.ID, child.Status)
	}
	return nil
}

// parent compares a child with what its parent says.
func (l *look) parent(ctx context.Context) error {
	p := l.in.Parent
	if p.Key.IsZero() {
		return nil
	}
	page, err := l.c.store.ReadHistory(ctx, provider.ReadHistoryRequest{Key: p.Key, Execution: p.Execution, From: p.EventID, To: p.EventID})
	switch {
	case errors.Is(err, provider.ErrNotFound):
		l.add(Orphan, 0, 0, "its parent %q (%s), execution %d, is gone", p.ID, p.Key, p.Execution)
		return nil
	case err != nil && (provider.Retryable(err) || ctx.Err() != nil):
		return fmt.Errorf("reading the history of instance %s: %w", p.Key, err)
	case err != nil:
		return nil // the parent is reported itself
	}
	if len(page.Events) == 0 {
		l.add(ParentChild, 0, 0, "its parent %q has no event %d in execution %d", p.ID, p.EventID, p.Execution)
		return nil
	}
	e, err := history.Decode(p.EventID, page.Events[0].Data)
	if err != nil {
		return nil //nolint:nilerr // the parent is reported itself
	}
	if started, ok := e.Body.(*history.ChildStarted); !ok || provider.UUID(started.Key) != l.in.Key {
		l.add(ParentChild, 0, 0, "event %d of its parent %q, execution %d, is no start of it but %s", p.EventID, p.ID, p.Execution, e.Body.Kind())
		return nil
	}
	// A reset of the parent leaves its children alone.
	left := page.Status.Ended() && page.Status != provider.StatusReset
	if l.rows && left && !l.in.Status.Ended() && p.Close == provider.CloseCancel && !l.asked && !l.has(history.KindCancelRequested) {
		l.add(ParentChild, 0, 0, "it runs on, its parent %q (execution %d) is %s, and nobody has asked it to stop", p.ID, p.Execution, page.Status)
	}
	return nil
}
