package invariant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// An instanceCheck is one check of one instance.
type instanceCheck struct {
	c               *checker
	in              provider.Instance
	rows            bool // the rows that depend on it are known, too
	dependent       dependentRows
	current         *trace // the current execution; nil: it cannot be read
	cancelRequested bool   // some execution has a cancel request in its history
	unread          bool   // some execution cannot be read

	events int64
	found  []Finding
}

// examine tries all rules on the instance. rows stand at its key; nil: they cannot be had.
func (l *instanceCheck) examine(ctx context.Context, rows *rowReaders) (err error) {
	if rows != nil {
		l.rows = true
		if l.dependent, err = rows.dependentRows(ctx, l.in.Key); err != nil {
			return err
		}
	}
	switch {
	case l.in.Deleting: // it is on its way out, all of it
	case l.in.EngineLevel > replay.EngineLevel:
		l.c.report.skip(fmt.Sprintf("instance %q (%s): it was written by a newer release (engine level %d)", l.in.ID, l.in.Key, l.in.EngineLevel))
	default:
		err = l.rules(ctx, rows)
	}
	if err != nil || rows == nil {
		return err
	}
	return rows.pass(ctx, l.in.Key)
}

// rules tries them all.
func (l *instanceCheck) rules(ctx context.Context, rows *rowReaders) error {
	if l.in.Name == "" && !l.in.Status.Ended() {
		l.addf(MissingName, 0, 0, "it is %s and has no name", l.in.Status)
	}
	if l.in.Name != "" && reserved.ID(l.in.ID) && !reserved.Name(l.in.Name) {
		l.addf(ReservedID, 0, 0, "IDs that begin with %s belong to perdure itself, and it is an instance of %s", reserved.IDPrefix, l.in.Name)
	}
	for n := int64(1); n <= l.in.Execution; n++ {
		if err := l.execution(ctx, n, rows); err != nil {
			return err
		}
	}
	if err := l.outcome(ctx); err != nil {
		return err
	}
	if l.rows {
		l.inbox()
		l.leases()
	}
	if l.rows && l.current != nil {
		l.leftovers()
		if err := l.stuck(ctx); err != nil {
			return err
		}
	}
	return l.parent(ctx)
}

// missing reports an execution that is not there, unless it was trimmed: then its events and all older executions are gone, too.
func (l *instanceCheck) missing(ctx context.Context, n int64, rows *rowReaders) error {
	var left []provider.HistoryRow
	if rows != nil {
		var err error
		if left, err = rows.spans(ctx, l.in.Key, n); err != nil {
			return err
		}
	}
	older := slices.ContainsFunc(l.dependent.executions, func(x provider.ExecutionRow) bool { return x.Execution < n })
	if len(left) > 0 || older || n == l.in.Execution-1 {
		l.addf(EventGap, n, 0, "the execution is missing")
	}
	return nil
}

// execution reads the history of an execution and compares it with the rows.
func (l *instanceCheck) execution(ctx context.Context, n int64, rows *rowReaders) error {
	length := l.in.HistoryLength
	if n < l.in.Execution {
		if length = -1; l.rows { // without rows the history gives its own length
			former := slices.IndexFunc(l.dependent.executions, func(x provider.ExecutionRow) bool { return x.Execution == n })
			if former < 0 {
				l.unread = true
				return l.missing(ctx, n, rows)
			}
			length = l.dependent.executions[former].Length
		}
	}
	if rows != nil {
		spans, err := rows.spans(ctx, l.in.Key, n)
		if err != nil {
			return err
		}
		if !l.whole(n, spans, length) {
			l.unread = true
			return nil
		}
	}
	t, err := l.read(ctx, n, length)
	if err != nil {
		return err
	}
	if t == nil {
		l.unread = true
		return nil
	}
	l.cancelRequested = l.cancelRequested || t.cancelRequested
	l.events += t.length
	if n < l.in.Execution {
		return nil
	}
	l.current = t
	if t.bytes != l.in.HistoryBytes {
		l.addf(EventGap, n, 0, "the row says %d bytes, the events have %d", l.in.HistoryBytes, t.bytes)
	}
	return nil
}

// whole reports whether the stored events are 1 to length.
func (l *instanceCheck) whole(n int64, spans []provider.HistoryRow, length int64) bool {
	next := int64(1)
	for _, s := range spans {
		switch {
		case s.First > next:
			l.addf(EventGap, n, next, "events %d to %d are missing", next, s.First-1)
			return false
		case s.First < next || s.Count < 1:
			l.addf(EventGap, n, s.First, "events %d to %d are stored twice", s.First, next-1)
			return false
		}
		next += s.Count
	}
	if next-1 != length {
		l.addf(EventGap, n, min(next-1, length)+1, "the row says %d events, %d are stored", length, next-1)
		return false
	}
	return true
}

// outcome compares status, outcome and the end of the history.
func (l *instanceCheck) outcome(ctx context.Context) error {
	var out history.Outcome
	sealed := false // who checks a store has no codec
	if l.in.Status.Ended() {
		if l.in.Result == nil {
			l.addf(MissingOutcome, 0, 0, "it is %s and has no outcome", l.in.Status)
			return nil
		}
		var err error
		if out, err = history.DecodeOutcome(l.in.Result); errors.Is(err, history.ErrSealed) {
			sealed = true
		} else if err != nil {
			l.addf(MissingOutcome, 0, 0, "it is %s, its outcome of %d bytes cannot be read: %v", l.in.Status, len(l.in.Result), err)
			return nil
		}
		if failed := l.in.Status != provider.StatusCompleted; !sealed && failed != (out.Failure != nil) {
			l.addf(MissingOutcome, 0, 0, "it is %s, its outcome has a failure: %t", l.in.Status, out.Failure != nil)
		}
	}
	if l.current != nil {
		if ended := l.current.endedAs(); ended != 0 && ended != l.in.Status {
			l.addf(MissingOutcome, l.in.Execution, l.current.length, "its history ends as %s, the instance is %s", ended, l.in.Status)
		} else if ended == 0 && l.in.Status.Ended() {
			l.addf(MissingOutcome, l.in.Execution, l.current.length, "it is %s, its history has no end", l.in.Status)
		}
	}
	if l.c.options.Expect != nil && !sealed {
		if err := l.c.options.Expect(l.in, out); err != nil {
			l.addf(UnexpectedOutcome, 0, 0, "%v", err)
		}
	}
	return ctx.Err()
}

// leases reports those without a live holder.
func (l *instanceCheck) leases() {
	dead := func(event int64, r provider.LeaseRow, what string) {
		switch {
		case r.Over:
		case r.OwnerGone:
			l.addf(DeadLease, l.in.Execution, event, "%s is leased to %q, who is dead", what, r.Owner)
		case l.c.options.Idle:
			l.addf(DeadLease, l.in.Execution, event, "%s is leased to %q, and nobody should be there", what, r.Owner)
		}
	}
	for _, r := range l.dependent.leases {
		dead(0, r.Lease, "its turn")
	}
	for _, t := range l.dependent.tasks {
		if t.State == provider.TaskLeased {
			dead(t.EventID, t.Lease, "the activity")
		}
	}
}
