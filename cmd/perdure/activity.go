package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/shell"
)

// errOperator is the type of errors with which people fail activities.
var errOperator = errors.New("failed by an operator")

func newActivity(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "activity",
		Short: "Retry, pause, resume, complete or fail a pending activity",
		Long: "EVENT is the number of the event that scheduled the activity. 'perdure describe ID' lists the pending activities\n" +
			"with their events and attempts. With --attempt, the command changes nothing if another attempt is pending by now.\n" +
			"A node that runs the activity learns it within a third of its lease, and its result is dropped.",
	}
	cmd.AddCommand(
		newActivityAct(a, &cobra.Command{
			Use:   "retry ID EVENT",
			Short: "Begin the next attempt at once",
			Long:  "Retry begins the next attempt of an activity at once. An attempt that runs is given up.",
		}, "retry", func(ctx context.Context, p client.PendingActivity, out *acted) error { return p.Retry(ctx, out.Reason) }),
		newActivityAct(a, &cobra.Command{
			Use:   "pause ID EVENT",
			Short: "Keep an activity from running until it is resumed",
			Long:  "Pause keeps an activity from running. An attempt that runs is given up. The time limits of the call go on.",
		}, "pause", func(ctx context.Context, p client.PendingActivity, out *acted) error { return p.Pause(ctx, out.Reason) }),
		newActivityAct(a, &cobra.Command{
			Use:   "resume ID EVENT",
			Short: "Let a paused activity run",
		}, "resume", func(ctx context.Context, p client.PendingActivity, out *acted) error {
			return p.Resume(ctx, out.Reason)
		}),
		newActivityAct(a, &cobra.Command{
			Use:   "complete ID EVENT [JSON]",
			Short: "End an activity with an output",
			Long: "Complete ends an activity in place of its code. The output is JSON of the type that the activity would return, @file,\n" +
				"or - for standard input. The default is null.",
			Example: "  perdure activity complete order-42 3 '{\"charge\": \"ch_17\"}' --db orders.db",
		}, "complete", func(ctx context.Context, p client.PendingActivity, out *acted) error {
			return p.Complete(ctx, out.Output, out.Reason)
		}),
		newActivityAct(a, &cobra.Command{
			Use:     "fail ID EVENT TEXT",
			Short:   "End an activity with an error",
			Long:    "Fail ends an activity with an error in place of its code. The call is not retried.",
			Example: "  perdure activity fail order-42 3 'the card was stolen' --db orders.db",
		}, "fail", func(ctx context.Context, p client.PendingActivity, out *acted) error {
			return p.Fail(ctx, fmt.Errorf("%w: %s", errOperator, out.Error), out.Reason)
		}),
	)
	return cmd
}

// activityDone says that an act is done.
//
//nolint:gochecknoglobals // constant table
var activityDone = map[string]string{
	"retry": "retried", "pause": "paused", "resume": "resumed", "complete": "completed", "fail": "failed",
}

// newActivityAct completes a command that acts on one activity.
func newActivityAct(
	a *app, cmd *cobra.Command, action string, act func(ctx context.Context, p client.PendingActivity, out *acted) error,
) *cobra.Command {
	reason, attempt := "", int64(0)
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out := acted{ID: args[0], Action: action, Reason: reason}
		event, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || event < 1 {
			return badUsage("%q is not the number of an event; 'perdure describe %s' lists the pending activities", args[1], shell.Word(args[0]))
		}
		if cmd.Flags().Changed("attempt") && attempt < 1 {
			return badUsage("flag --attempt is %d: attempts begin with 1", attempt)
		}
		out.Event = event
		switch {
		case action == "complete":
			out.Output = json.RawMessage("null")
			if len(args) == 3 {
				if out.Output, err = readJSON(cmd, "output", args[2]); err != nil {
					return err
				}
			}
		case len(args) == 3:
			out.Error = args[2]
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			p, err := shownActivity(ctx, c, &out, attempt)
			if err == nil {
				err = act(ctx, p, &out)
			}
			if err != nil {
				return err
			}
			return a.show(cmd, out, func(w *grid) {
				fmt.Fprintf(w, "%s activity %d of %s, attempt %d\n", activityDone[action], out.Event, plain(out.ID), out.Attempt)
			})
		})
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for people to read, kept in the audit")
	cmd.Flags().Int64Var(&attempt, "attempt", 0, "the attempt that you have seen; another one is a conflict (default: the pending one)")
	return cmd
}

// shownActivity returns the pending activity of an instance as it is now, with the given attempt if there is one.
func shownActivity(ctx context.Context, c *client.Client, out *acted, attempt int64) (client.PendingActivity, error) {
	d, err := c.Describe(ctx, out.ID)
	if err != nil {
		return client.PendingActivity{}, err
	}
	ref := client.ActivityRef{Execution: d.Execution, EventID: out.Event, Attempt: attempt}
	for i := range d.Activities {
		if shown := d.Ref(&d.Activities[i]); shown.EventID == out.Event && attempt == 0 {
			ref = shown
		}
	}
	if ref.Attempt == 0 {
		return client.PendingActivity{}, fmt.Errorf("activity %d of %q: %w: it is not pending; 'perdure describe %s' lists those that are",
			out.Event, out.ID, client.ErrNotFound, shell.Word(out.ID))
	}
	out.Attempt = ref.Attempt
	return client.HandleOf[json.RawMessage](c, out.ID, d.Key).Activity(ref), nil
}
