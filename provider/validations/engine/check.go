package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider"
)

// settle waits until all instances have ended: children may do so after their parents.
func (t *trial) settle() {
	for d, err := range t.client.All(t.ctx, client.Filter{Statuses: unfinished()}) {
		if errors.Is(err, errors.ErrUnsupported) {
			return // what has not ended is found by the waits of the scenario
		}
		t.ok(err)
		_, err = client.HandleOf[json.RawMessage](t.client, d.ID, d.Key).Wait(t.ctx, client.OrBlocked())
		if err != nil && !errors.Is(err, client.ErrFailed) && !errors.Is(err, client.ErrNotFound) {
			t.ok(err)
		}
	}
}

func unfinished() []client.Status {
	return []client.Status{client.StatusRunning, client.StatusSuspended}
}

// stopNodes shuts all nodes down.
func (t *trial) stopNodes(ctx context.Context) {
	t.mu.Lock()
	nodes := t.nodes
	t.mu.Unlock()
	for _, rt := range nodes {
		if err := rt.Shutdown(ctx); err != nil {
			t.errorf("shutting a node down: %v", err)
		}
	}
}

// check looks at what the scenario has left behind.
func (t *trial) check(ctx context.Context, s scenario) {
	for a, n := range t.ran() {
		if n > 1 && !s.again {
			t.errorf("attempt %d of activity %q (%s) ran %d times", a.number, a.name, a.call, n)
		}
	}
	report, err := invariant.Check(ctx, t.store, invariant.Options{Idle: true, Expect: func(i provider.Instance, _ history.Outcome) error {
		if !i.Status.Ended() {
			return fmt.Errorf("it is %s, and everything should have ended", i.Status)
		}
		return nil
	}})
	if err != nil {
		t.errorf("checking the store: %v", err)
	}
	for _, f := range report.Findings {
		t.errorf("the store is broken: %v", f)
	}
}

// manyUnfinished is how many instances a report of a hanging scenario names.
const manyUnfinished = 5

// unfinished returns what a hanging scenario waits for.
func (t *trial) unfinished(ctx context.Context, timeout time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	page, err := t.client.List(ctx, client.Filter{Statuses: unfinished()}, client.Page{Size: manyUnfinished})
	if err != nil {
		return fmt.Sprintf("; listing what has not ended: %v", err)
	}
	var b strings.Builder
	for _, i := range page.Items {
		d, err := t.client.Describe(ctx, i.ID)
		if errors.Is(err, client.ErrNotFound) {
			continue
		}
		fmt.Fprintf(&b, "\n\t%s %q is %s: execution %d has %d events, %d messages wait",
			i.Orchestration, i.ID, i.Status, d.Execution, d.HistoryLength, d.InboxMessages)
		if !d.ReadyAt.IsZero() {
			fmt.Fprintf(&b, ", the first since %v", d.AsOf.Sub(d.ReadyAt))
		}
		if d.Blocked != nil {
			fmt.Fprintf(&b, ", blocked (%s): %s", d.Blocked.Reason, d.Blocked.Message)
		}
		for _, a := range d.Activities {
			fmt.Fprintf(&b, ", activity %q of event %d is %s, attempt %d, delivery %d", a.Name, a.EventID, a.State, a.Attempt, a.Deliveries)
		}
		if err != nil {
			fmt.Fprintf(&b, ", %v", err)
		}
	}
	return b.String()
}

// ran returns how often each attempt has run so far.
func (t *trial) ran() map[attempt]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.attempts)
}
