package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// maxWaits is how many timers, and how many children, Waits lists.
const maxWaits = 100

// WaitKind is the kind of a Wait.
type WaitKind string

// The kinds of waits.
const (
	WaitStart    WaitKind = "start"    // the code has not begun: the start is delayed, or no node has taken it
	WaitNode     WaitKind = "node"     // messages wait for a turn
	WaitRelease  WaitKind = "release"  // it is suspended, blocked or sealed
	WaitActivity WaitKind = "activity" // an activity is pending
	WaitTimer    WaitKind = "timer"    // a timer is due at Until
	WaitChild    WaitKind = "child"    // a child runs
	WaitUpdate   WaitKind = "update"   // an update has no outcome
	WaitHandler  WaitKind = "handler"  // the function has returned, and handlers run
	WaitEvent    WaitKind = "event"    // nothing of these: an event, an update or a condition, which only the code knows
)

// Wait is one thing that an instance waits for.
type Wait struct {
	Kind     WaitKind      `json:"kind"`
	Name     string        `json:"name,omitempty"`       // of the activity, child, update or handler
	EventID  int64         `json:"eventId,omitempty"`    // that began the activity, timer or child
	Instance string        `json:"instance,omitempty"`   // ID of the child
	Key      provider.UUID `json:"instanceKey,omitzero"` // of the child
	Until    time.Time     `json:"until,omitzero"`       // when a timer is due, or an activity or a turn is tried next
	Text     string        `json:"text"`                 // in words, for people
	More     bool          `json:"moreOfThis,omitempty"` // the last of its kind that is listed: there may be others
}

// waits returns what a described instance waits for.
func (c *Client) waits(ctx context.Context, op string, d *Description) ([]Wait, error) {
	if d.Status.Ended() {
		return nil, nil
	}
	list := d.turns()
	for i := range d.Activities {
		list = append(list, d.Activities[i].wait(d.AsOf))
	}
	timers, err := c.timers(ctx, op, d)
	if err != nil {
		return nil, err
	}
	children, err := c.runningChildren(ctx, op, d)
	if err != nil {
		return nil, err
	}
	list = slices.Concat(list, timers, children)
	for _, u := range d.Updates {
		list = append(list, Wait{Kind: WaitUpdate, Name: u.Name, Text: fmt.Sprintf("update %q (%s) since %s", u.Name, u.ID, instant(u.Since))})
	}
	if d.Closing != nil {
		for _, h := range d.Closing.Handlers {
			list = append(list, Wait{Kind: WaitHandler, Name: h.Name, Text: fmt.Sprintf("%d running handlers of %s %q", h.Count, h.Kind, h.Name)})
		}
	}
	if len(list) == 0 {
		list = append(list, Wait{Kind: WaitEvent, Text: "an event, an update or a condition; the query \"stack\" says where the code waits"})
	}
	return list, nil
}

// turns returns why no turn of the instance runs.
func (d *Description) turns() (list []Wait) {
	add := func(kind WaitKind, until time.Time, format string, args ...any) {
		list = append(list, Wait{Kind: kind, Until: until, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case d.Sealed != nil && d.Sealed.Arrived:
		add(WaitRelease, time.Time{}, "the import that brings it from another store, and frees it at its end")
	case d.Sealed != nil:
		add(WaitRelease, time.Time{}, "nothing here: an export has sealed it, so it moves to another store or has moved there")
	case d.Status == StatusSuspended:
		add(WaitRelease, time.Time{}, "to be resumed: it is suspended")
	}
	if b := d.Blocked; b != nil {
		message, _, _ := strings.Cut(b.Message, "\n")
		next := "until somebody unblocks it"
		if !b.RetryAt.IsZero() {
			next = "next try at " + instant(b.RetryAt)
		}
		add(WaitRelease, b.RetryAt, "a turn that succeeds: it is blocked (%s), %s: %s", b.Reason, next, message)
	}
	waiting := !d.ReadyAt.IsZero() && !d.ReadyAt.After(d.AsOf)
	switch {
	case d.NoNode:
		add(WaitNode, time.Time{}, "a newer node: no listed one runs level %d", d.EngineLevel)
	case d.HistoryLength == 0 && d.ReadyAt.After(d.AsOf):
		add(WaitStart, d.ReadyAt, "its start, which is delayed until %s", instant(d.ReadyAt))
	case d.HistoryLength == 0 && d.Blocked == nil:
		add(WaitStart, time.Time{}, "a node that has %s %s and begins it", d.Orchestration, versionText(d.CodeVersion))
	case waiting && d.Blocked == nil && d.Status != StatusSuspended:
		add(WaitNode, time.Time{}, "a node that takes its messages, since %s", instant(d.ReadyAt))
	}
	return list
}

func versionText(version string) string {
	if version == "" {
		return "without a version"
	}
	return fmt.Sprintf("in version %q", version)
}

// wait says what the activity waits for.
func (a *Activity) wait(now time.Time) Wait {
	w := Wait{Kind: WaitActivity, Name: a.Name, EventID: a.EventID, Until: a.NotBefore}
	text := fmt.Sprintf("activity %s, attempt %d", a.Name, a.Attempt)
	switch {
	case a.State == ActivityRunning:
		text += " on " + a.Owner
	case a.State == ActivityParked:
		text += ", to be ended by its token"
	case a.NotBefore.After(now):
		text += ", next try at " + instant(a.NotBefore)
	default:
		text += fmt.Sprintf(", queued in %q", a.Queue)
		if a.NotBegun != nil && a.NotBegun.Reason != NotBegunNext {
			text += ": " + a.NotBegun.Text
		}
	}
	if a.Failure != nil {
		message, _, _ := strings.Cut(a.Failure.Message, "\n")
		text += "; the last attempt failed: " + message
	}
	w.Text = text
	return w
}

// timers returns the timers of the current execution, which are messages in its inbox.
func (c *Client) timers(ctx context.Context, op string, d *Description) (list []Wait, err error) {
	inspector, ok := provider.As[provider.Inspector](c.store.Provider)
	if !ok || d.InboxMessages == 0 {
		return nil, nil
	}
	req := provider.InspectRequest{Kind: provider.InspectMessages, Key: d.Key, Max: maxWaits}
	res, err := access.Read(ctx, c.store.Store, op, inspector.Inspect, req)
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	for i := range res.Messages {
		m := &res.Messages[i]
		if !m.Timer || m.Execution != d.Execution || history.Kind(m.Kind) != history.KindTimerFired {
			continue
		}
		due := m.VisibleAt.Std()
		list = append(list, Wait{Kind: WaitTimer, EventID: m.EventID, Until: due, Text: "a timer, due at " + instant(due)})
	}
	if len(list) > 0 && res.Cursor != "" {
		list[len(list)-1].More = true
	}
	return list, nil
}

// runningChildren returns the children of the current execution that have not ended.
func (c *Client) runningChildren(ctx context.Context, op string, d *Description) (list []Wait, err error) {
	if _, ok := provider.As[provider.Lister](c.store.Provider); !ok {
		return nil, nil
	}
	req := provider.ListRequest{
		Filter: provider.Filter{ParentKey: d.Key, Statuses: []provider.Status{provider.StatusRunning, provider.StatusSuspended}, Replaced: true},
		Max:    maxWaits, Omit: []provider.ListField{provider.ListAttributes, provider.ListCustomStatus, provider.ListBlockedMessage},
	}
	res, err := access.Read(ctx, c.store.Store, op, c.store.List, req)
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	for i := range res.Instances {
		in := &res.Instances[i]
		if in.Parent.Execution != d.Execution {
			continue
		}
		list = append(list, Wait{
			Kind: WaitChild, Name: in.Name, EventID: in.Parent.EventID, Instance: in.ID, Key: in.Key,
			Text: fmt.Sprintf("child %s as %q, %s", in.Name, in.ID, strings.ToLower(in.Status.String())),
		})
	}
	slices.Reverse(list) // in the order in which they were started
	if len(list) > 0 && res.Cursor != "" {
		list[len(list)-1].More = true
	}
	return list, nil
}

// instant returns a time for people.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
