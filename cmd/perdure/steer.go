package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// errNotBlocked is the error of an unblock that has nothing to do.
var errNotBlocked = errors.New("the instance is not blocked")

// steered is what raise, cancel, terminate and unblock print.
type steered struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	Event  string `json:"event,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func newRaise(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "raise ID EVENT [JSON]",
		Short: "Send an event to an instance",
		Long: "Raise puts an event into the mailbox EVENT of the instance, which keeps it until the orchestration asks\n" +
			"for it. The payload is JSON, @file, or - for standard input; without it, null.",
		Example: "  perdure raise order-42 approval '{\"by\": \"ann\", \"approved\": true}' --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			payload := json.RawMessage("null")
			if len(args) == 3 {
				value, err := readJSON(cmd, "payload", args[2])
				if err != nil {
					return err
				}
				payload = value
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if err := c.Raise(ctx, args[0], args[1], payload); err != nil {
					return err
				}
				out := steered{ID: args[0], Action: "raise", Event: args[1]}
				return a.show(cmd, out, func(w *tabwriter.Writer) { fmt.Fprintf(w, "raised %s to %s\n", plain(out.Event), plain(out.ID)) })
			})
		},
	}
}

func newCancel(a *app) *cobra.Command {
	return newEnder(a, &cobra.Command{
		Use:   "cancel ID",
		Short: "Ask an instance to stop in its own way",
		Long: "Cancel ends the orchestration's context, so that it can clean up and stop. It answers when the request\n" +
			"is stored; 'perdure show' tells what came of it.",
	}, "cancel", "asked %s to stop\n", (*client.Client).Cancel)
}

func newTerminate(a *app) *cobra.Command {
	return newEnder(a, &cobra.Command{
		Use:   "terminate ID",
		Short: "End an instance at once, without its code",
		Long: "Terminate ends the instance without running its code again: nothing is cleaned up, and its waiting\n" +
			"messages go to the dead letters. Prefer 'perdure cancel' where the code still answers.",
	}, "terminate", "terminated %s\n", (*client.Client).Terminate)
}

func newUnblock(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "unblock ID",
		Short: "Let a blocked instance be tried at once",
		Long: "Unblock clears the flag that 'perdure list --blocked' shows, so that the next turn is tried at once: mend the\n" +
			"cause first. An instance that is held needs it; others are tried again by themselves.",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := c.Describe(ctx, args[0])
				if err != nil {
					return err
				}
				if d.Blocked == nil && !d.Status.Ended() {
					return fmt.Errorf("unblocking %q: %w; see 'perdure list --blocked'", args[0], errNotBlocked)
				}
				if err := c.Unblock(ctx, args[0]); err != nil {
					return err
				}
				out := steered{ID: args[0], Action: "unblock"}
				return a.show(cmd, out, func(w *tabwriter.Writer) { fmt.Fprintf(w, "unblocked %s\n", plain(out.ID)) })
			})
		},
	}
}

// newEnder completes a command that stops one instance with a reason.
func newEnder(a *app, cmd *cobra.Command, action, told string, stop func(*client.Client, context.Context, string, string) error) *cobra.Command {
	reason := ""
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if err := stop(c, ctx, args[0], reason); err != nil {
				return err
			}
			out := steered{ID: args[0], Action: action, Reason: reason}
			return a.show(cmd, out, func(w *tabwriter.Writer) { fmt.Fprintf(w, told, plain(out.ID)) })
		})
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for people; stored in the history")
	return cmd
}
