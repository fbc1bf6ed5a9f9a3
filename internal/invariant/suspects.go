package invariant

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// suspects examines the rows that the readers could not place: rows without an instance, and rows that cannot be read.
func (c *checker) suspects(ctx context.Context) error {
	strays, faults := c.strays, c.faults
	c.strays, c.faults = nil, nil
	for _, key := range strays {
		if err := c.orphan(ctx, key); err != nil {
			return err
		}
	}
	for _, f := range faults {
		if c.faulty[f.Key] {
			continue
		}
		c.faulty[f.Key] = true
		found := []Finding{{Rule: UnreadableRow, Key: f.Key, Detail: f.Reason}}
		if f.Key.IsZero() {
			c.report.add(found) // there is nothing to look it up by
			continue
		}
		if err := c.confirm(ctx, f.Key, found); err != nil {
			return err
		}
	}
	return nil
}

// orphan reports rows of a key if they are still there after the key was found to be gone.
func (c *checker) orphan(ctx context.Context, key provider.UUID) error {
	if c.orphaned[key] {
		return nil
	}
	in, fault, err := c.instance(ctx, key)
	if err != nil || in != nil || fault != nil {
		return err
	}
	var found []Finding
	for kind := provider.InspectExecutions; kind <= provider.InspectDeadLetters; kind++ {
		if kind == provider.InspectAsks {
			continue
		}
		res, err := c.inspector.Inspect(ctx, provider.InspectRequest{Kind: kind, Key: key})
		if err != nil {
			return fmt.Errorf("inspecting rows of %s: %w", key, err)
		}
		if n := rowsOf(&res); n != "" {
			found = append(found, Finding{Rule: Orphan, Key: key, Detail: n + " of an instance that is gone: " + kindNames[kind]})
		}
	}
	c.orphaned[key] = len(found) > 0 && len(c.orphaned) < maxFindings
	c.report.add(found)
	return nil
}

// confirm looks at one instance again, all at one moment, and reports the findings that persist.
func (c *checker) confirm(ctx context.Context, key provider.UUID, first []Finding) error {
	if len(first) == 0 {
		return nil
	}
	if !c.options.Idle {
		if slices.ContainsFunc(first, func(f Finding) bool { return f.Rule == DeadLease }) {
			c.late = append(c.late, key)
		}
	}
	second, err := c.secondCheck(ctx, key)
	if err != nil {
		return err
	}
	for _, f := range second {
		if f.Rule == DeadLease && !c.options.Idle {
			continue
		}
		if slices.ContainsFunc(first, f.same) {
			c.report.add([]Finding{f})
		}
	}
	return nil
}

// secondCheck looks at one instance while it stands still.
func (c *checker) secondCheck(ctx context.Context, key provider.UUID) ([]Finding, error) {
	id := ""
	for range tries {
		before, fault, err := c.instance(ctx, key)
		if err != nil || before == nil && fault == nil {
			return nil, err // it is gone
		}
		if fault != nil {
			return []Finding{{Rule: UnreadableRow, Key: key, Detail: fault.Reason}}, nil
		}
		id = before.ID
		l := instanceCheck{c: c, in: *before}
		var rows *rowReaders
		if c.inspector != nil {
			rows = c.newRowReaders(key, l.fault, func(provider.UUID) {})
		}
		if err := l.examine(ctx, rows); err != nil {
			return nil, err
		}
		after, _, err := c.instance(ctx, key)
		if err != nil {
			return nil, err
		}
		if after != nil && still(before, after) {
			return l.found, nil
		}
	}
	c.report.skip(fmt.Sprintf("instance %q (%s): it changes faster than it can be looked at", id, key))
	return nil, nil
}

// still reports whether nothing happened to an instance between two checks. Every change of its history, inbox or
// tasks changes one of these.
func still(a, b *provider.Instance) bool {
	return a.Version == b.Version && a.Status == b.Status && a.Deleting == b.Deleting && a.Execution == b.Execution &&
		a.HistoryLength == b.HistoryLength && a.InboxMessages == b.InboxMessages && a.ReadyAt == b.ReadyAt
}

// rowsOf returns how many rows a page has, "" for none.
func rowsOf(r *provider.InspectResult) string {
	n := len(r.Executions) + len(r.History) + len(r.Messages) + len(r.Tasks) + len(r.TurnLeases) + len(r.Keys) + len(r.Faults)
	switch {
	case n == 0:
		return ""
	case r.Cursor != "":
		return fmt.Sprintf("%d rows and more", n)
	default:
		return fmt.Sprintf("%d rows", n)
	}
}

//nolint:gochecknoglobals // constant table
var kindNames = map[provider.InspectKind]string{
	provider.InspectExecutions: "executions", provider.InspectHistory: "history", provider.InspectMessages: "inbox",
	provider.InspectTasks: "tasks", provider.InspectTurnLeases: "turn lease", provider.InspectValues: "key-values",
	provider.InspectAttributes: "attributes", provider.InspectOutcomes: "outcome", provider.InspectDeadLetters: "dead letters",
}

// lateLeases looks once more at leases of dead owners, after the storage had time to end them.
func (c *checker) lateLeases(ctx context.Context) error {
	if len(c.late) == 0 {
		return nil
	}
	timer := time.NewTimer(c.options.Patience)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, key := range c.late {
		found, err := c.secondCheck(ctx, key)
		if err != nil {
			return err
		}
		for _, f := range found {
			if f.Rule == DeadLease {
				c.report.add([]Finding{f})
			}
		}
	}
	return nil
}

// questions reports asks without a waiting caller: its process is gone.
func (c *checker) questions(ctx context.Context) error {
	for req := (provider.InspectRequest{Kind: provider.InspectAsks}); ; {
		res, err := c.inspector.Inspect(ctx, req)
		if err != nil {
			return fmt.Errorf("inspecting questions: %w", err)
		}
		for _, key := range res.Keys {
			c.report.add([]Finding{{Rule: Leftover, Key: key, Detail: "an ask without a waiting caller"}})
		}
		if req.Cursor = res.Cursor; req.Cursor == "" {
			return nil
		}
	}
}
