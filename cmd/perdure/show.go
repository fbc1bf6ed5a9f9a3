package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

func newShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an instance, its result and its pending activities",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := c.Describe(ctx, args[0])
				if err != nil {
					return err
				}
				return a.show(cmd, d, func(w *tabwriter.Writer) { showTable(w, &d) })
			})
		},
	}
}

func showTable(w *tabwriter.Writer, d *client.Description) {
	row(w, "id", d.ID)
	row(w, "key", d.Key)
	row(w, "orchestration", d.Orchestration)
	if d.CodeVersion != "" {
		row(w, "code version", d.CodeVersion)
	}
	row(w, "status", statusText(d))
	if b := d.Blocked; b != nil {
		message, _, _ := strings.Cut(b.Message, "\n") // after a panic the stack follows
		row(w, "blocked", fmt.Sprintf("%d failed turns since %s, next try %s: %s", b.Count, instant(b.Since), retryText(b), message))
	}
	closingRow(w, d)
	updateRows(w, d)
	stateRows(w, d)
	if d.NoNode {
		row(w, "waits", fmt.Sprintf("for a newer node: no listed one runs level %d; see 'perdure upgrade status'", d.EngineLevel))
	}
	row(w, "execution", d.Execution)
	row(w, "history", fmt.Sprintf("%d events, %d bytes", d.HistoryLength, d.HistoryBytes))
	row(w, "inbox", inboxText(d))
	if d.DeadLetters > 0 {
		row(w, "dead letters", fmt.Sprintf("%d; 'perdure dead-letters list --instance ID' shows them", d.DeadLetters))
	}
	if p := d.Parent; p != nil {
		row(w, "parent", fmt.Sprintf("%s, execution %d, event %d", p.ID, p.Execution, p.EventID))
	}
	row(w, "created", instant(d.CreatedAt))
	row(w, "updated", instant(d.UpdatedAt))
	row(w, "ended", instant(d.EndedAt))
	switch {
	case d.Unreadable != "":
		row(w, "result", "cannot be read: "+d.Unreadable)
	case d.Failure != nil:
		row(w, "failure", failureText(d.Failure))
	case d.Status.Ended():
		row(w, "result", payloadText(d.Result, showLimit))
	}
	for i := range d.Activities {
		row(w, fmt.Sprintf("activity %d", d.Activities[i].EventID), activityText(&d.Activities[i]))
		attemptRows(w, d.Activities[i].Attempts)
	}
}

// closingRow shows the handlers that the instance waits for, and at its end the events that nobody took.
func closingRow(w *tabwriter.Writer, d *client.Description) {
	if c := d.Closing; c != nil {
		names := make([]string, len(c.Handlers))
		for i, h := range c.Handlers {
			names[i] = fmt.Sprintf("%d of %s %s", h.Count, h.Kind, strconv.Quote(h.Name))
		}
		row(w, "closing", fmt.Sprintf("since %s, running handlers: %s", instant(c.Since), strings.Join(names, ", ")))
	}
	if len(d.Unread) > 0 {
		names := slices.Sorted(maps.Keys(d.Unread))
		for i, name := range names {
			names[i] = fmt.Sprintf("%d of %s", d.Unread[name], strconv.Quote(name))
		}
		row(w, "unread events", strings.Join(names, ", "))
	}
}

// inboxText describes the content of the inbox, which also holds timers. While nothing is due, it holds only timers.
func inboxText(d *client.Description) string {
	switch {
	case d.InboxMessages == 0:
		return "empty"
	case d.ReadyAt.After(d.AsOf) && d.HistoryLength == 0:
		return "the start, at " + instant(d.ReadyAt)
	case d.ReadyAt.After(d.AsOf):
		return fmt.Sprintf("%s, the next fires at %s", plural(int(d.InboxMessages), "timer"), instant(d.ReadyAt))
	case d.HistoryLength == 0:
		return plural(int(d.InboxMessages), "message")
	default:
		return fmt.Sprintf("%d messages and timers", d.InboxMessages)
	}
}

// showLimit is the length to which show cuts a payload. JSON output shows all of it.
const showLimit = 2_000

func retryText(b *client.Blocked) string {
	if b.RetryAt.IsZero() {
		return "held"
	}
	return instant(b.RetryAt)
}

func activityText(t *client.Activity) string {
	text := fmt.Sprintf("%s on queue %s: %s, attempt %d", t.Name, t.Queue, t.State, t.Attempt)
	if t.Deliveries > 1 {
		text += fmt.Sprintf(", delivered %d times", t.Deliveries)
	}
	if t.Owner != "" {
		text += ", by " + t.Owner
	}
	if t.State == client.ActivityQueued && t.NotBefore.After(t.ScheduledAt) {
		text += ", not before " + t.NotBefore.UTC().Format(time.RFC3339)
	}
	if len(t.Heartbeat) > 0 {
		text += ", heartbeat " + payloadText(t.Heartbeat, eventLimit)
	}
	if t.Failure != nil {
		text += ", last failure: " + failureText(t.Failure)
	}
	return text
}
