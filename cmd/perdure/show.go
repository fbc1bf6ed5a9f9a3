package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

func newShow(a *app) *cobra.Command {
	follow := false
	cmd := &cobra.Command{
		Use:     "describe ID",
		Aliases: []string{"show"},
		Short:   "Show an instance, its result and what it waits for",
		Long: "Describe prints what is stored about an instance: its status, what its code shows, what it waits for, and its result.\n" +
			"With --follow it prints that again after each change, at most ten times a second, until the instance has ended.",
		Example: "  perdure describe order-42 --db orders.db\n  perdure describe order-42 --follow -o jsonl --db orders.db",
		Args:    arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if follow && a.output == outputJSON {
			return badUsage("flag --follow with -o json: use -o jsonl, which prints an object after each change")
		}
		return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			h, err := instanceOf(ctx, c, args[0], *byKey)
			if err != nil {
				return err
			}
			if follow {
				return a.followShow(ctx, cmd, h)
			}
			d, err := h.Describe(ctx)
			if err != nil {
				return err
			}
			return a.show(cmd, d, func(w *grid) { showTable(w, &d) })
		})
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "print the instance again after each change, until it has ended")
	return cmd
}

// followShow shows an instance after each change.
func (a *app) followShow(ctx context.Context, cmd *cobra.Command, h client.Handle[json.RawMessage]) error {
	first := true
	for d, err := range h.Watch(ctx) {
		if err == nil {
			d.Waits, err = h.Waits(ctx)
		}
		if err != nil {
			return err
		}
		if !first && a.output == outputTable {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		first = false
		if err := a.show(cmd, d, func(w *grid) { showTable(w, &d) }); err != nil {
			return err
		}
	}
	return nil
}

func showTable(w *grid, d *client.Description) {
	row(w, "id", d.ID)
	row(w, "key", d.Key)
	row(w, "orchestration", d.Orchestration)
	if d.CodeVersion != "" {
		row(w, "code version", d.CodeVersion)
	}
	row(w, "status", statusText(d))
	switch s := d.Sealed; {
	case s != nil && s.Arrived:
		row(w, "sealed", "an import brings it from another database: repeat the import if it was interrupted")
	case s != nil:
		row(w, "sealed", "it moves to another database, or has moved there: see 'perdure unseal'")
	}
	if b := d.Blocked; b != nil {
		message, _, _ := strings.Cut(b.Message, "\n") // after a panic the stack follows
		row(w, "blocked", fmt.Sprintf("%s since %s, next try %s: %s", amount.Of(b.Count, "failed turn"), instant(b.Since), retryText(b), message))
	}
	closingRow(w, d)
	updateRows(w, d)
	stateRows(w, d)
	waitRows(w, d)
	row(w, "execution", d.Execution)
	row(w, "history", amount.Of(d.HistoryLength, "event")+", "+amount.Of(d.HistoryBytes, "byte"))
	row(w, "inbox", inboxText(d))
	if d.DeadLetters > 0 {
		row(w, "dead letters", fmt.Sprintf("%d; 'perdure dead-letter list --instance ID' shows them", d.DeadLetters))
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

// waitRows shows what the instance waits for, except what other rows show.
func waitRows(w *grid, d *client.Description) {
	for i := range d.Waits {
		text := d.Waits[i].Text
		switch d.Waits[i].Kind {
		case client.WaitActivity, client.WaitUpdate, client.WaitHandler:
			continue
		case client.WaitRelease:
			if d.Sealed != nil || d.Blocked != nil && d.Status != client.StatusSuspended {
				continue
			}
		case client.WaitNode:
			if d.NoNode {
				text += "; see 'perdure upgrade status'"
			}
		default:
		}
		if d.Waits[i].More {
			text += ", and more"
		}
		row(w, "waits for", text)
	}
}

// closingRow shows the handlers that the instance waits for, and at its end the events that nobody took.
func closingRow(w *grid, d *client.Description) {
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
		return fmt.Sprintf("%s, the next fires at %s", amount.Of(d.InboxMessages, "timer"), instant(d.ReadyAt))
	case d.HistoryLength == 0:
		return amount.Of(d.InboxMessages, "message")
	default:
		if d.InboxMessages == 1 {
			return "1 message or timer"
		}
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
	if t.NotBegun != nil {
		text += ", not begun: " + t.NotBegun.Text
	}
	if len(t.Heartbeat) > 0 {
		text += ", heartbeat " + payloadText(t.Heartbeat, eventLimit)
	}
	if t.Failure != nil {
		text += ", last failure: " + failureText(t.Failure)
	}
	return text
}
