package invariant

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// awaitsChild checks a child whose outcome has not come.
func (l *instanceCheck) awaitsChild(ctx context.Context, event int64, key provider.UUID) error {
	n := l.in.Execution
	child, fault, err := l.c.instance(ctx, key)
	switch {
	case err != nil:
		return err
	case fault != nil: // it is reported itself
	case child == nil:
		l.addf(Stuck, n, event, "it awaits the child %s, which is not there, nor its outcome", key)
	case child.Parent.Key != l.in.Key || child.Parent.Execution != n || child.Parent.EventID != event:
		l.addf(ParentChild, n, event, "it awaits the child %q, whose parent is event %d of execution %d of %s",
			child.ID, child.Parent.EventID, child.Parent.Execution, child.Parent.Key)
	case child.Status.Ended():
		l.addf(ParentChild, n, event, "it awaits the child %q, which is %s, and the outcome did not come", child.ID, child.Status)
	}
	return nil
}

// orphan reports an instance whose parent is gone. If only the execution that started it is gone, it was trimmed.
func (l *instanceCheck) orphan(ctx context.Context, p provider.Parent) error {
	parent, fault, err := l.c.instance(ctx, p.Key)
	if err != nil || fault != nil || parent != nil && parent.Execution > p.Execution {
		return err
	}
	l.addf(Orphan, 0, 0, "its parent %q (%s), execution %d, is gone", p.ID, p.Key, p.Execution)
	return nil
}

// parent compares a child with the record of its parent.
func (l *instanceCheck) parent(ctx context.Context) error {
	p := l.in.Parent
	if p.Key.IsZero() {
		return nil
	}
	page, err := l.c.store.ReadHistory(ctx, provider.ReadHistoryRequest{Key: p.Key, Execution: p.Execution, From: p.EventID, To: p.EventID})
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return l.orphan(ctx, p)
	case err != nil:
		if provider.Retryable(err) || ctx.Err() != nil {
			return fmt.Errorf("reading the history of instance %s: %w", p.Key, err)
		}
		return nil // the parent is reported itself
	case len(page.Events) == 0:
		l.addf(ParentChild, 0, 0, "its parent %q has no event %d in execution %d", p.ID, p.EventID, p.Execution)
		return nil
	}
	e, _, err := history.DecodeShown(p.EventID, page.Events[0].Data)
	if err != nil {
		return nil //nolint:nilerr // the parent is reported itself
	}
	if started, ok := e.Body.(*history.ChildStarted); !ok || provider.UUID(started.Key) != l.in.Key {
		l.addf(ParentChild, 0, 0, "event %d of its parent %q, execution %d, is no start of it but %s", p.EventID, p.ID, p.Execution, e.Body.Kind())
		return nil
	}
	// A reset of the parent leaves its children alone.
	left := page.Status.Ended() && page.Status != provider.StatusReset
	runsOn := left && p.Close == provider.CloseCancel && !l.in.Status.Ended() && l.rows && !l.unread
	if runsOn && !l.cancelRequested && !l.has(history.KindCancelRequested) {
		l.addf(ParentChild, 0, 0, "it runs on, its parent %q (execution %d) is %s, and nobody has asked it to stop", p.ID, p.Execution, page.Status)
	}
	return nil
}
