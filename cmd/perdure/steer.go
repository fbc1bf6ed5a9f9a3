package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// errNotBlocked is the error of unblocking an instance that is not blocked.
var errNotBlocked = errors.New("the instance is not blocked")

// steered is the output of raise, cancel, terminate and unblock.
type steered struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	Event  string `json:"event,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func newRaise(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "raise ID EVENT [JSON]",
		Short: "Send an event to an instance",
		Long: "Raise sends the event EVENT to the instance. Its handler gets it, or its mailbox keeps it until the orchestration\n" +
			"receives it. The payload is JSON, @file, or - for standard input. The default is null.",
		Example: "  perdure raise order-42 approval '{\"by\": \"ann\", \"approved\": true}' --db orders.db",
		Args:    arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		payload := json.RawMessage("null")
		if len(args) == 3 {
			value, err := readJSON(cmd, "payload", args[2])
			if err != nil {
				return err
			}
			payload = value
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			id, err := actOn(ctx, c, args[0], *byKey, func(id string) error { return c.Raise(ctx, id, args[1], payload) },
				func(h client.Handle[json.RawMessage]) error { return h.Raise(ctx, args[1], payload) })
			if err != nil {
				return err
			}
			out := steered{ID: id, Action: "raise", Event: args[1]}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "raised %s to %s\n", plain(out.Event), plain(out.ID)) })
		})
	}
	return cmd
}

func newCancel(a *app) *cobra.Command {
	return newEnder(a, &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel an instance, so that its code can clean up",
		Long: "Cancel cancels the orchestration's context, so that its code can clean up and return. The command returns when\n" +
			"the request is stored. Check the outcome with 'perdure describe'.",
	}, "cancel", "asked %s to stop\n", func(c *client.Client, ctx context.Context, id, reason string) error { return c.Cancel(ctx, id, reason) },
		func(h client.Handle[json.RawMessage], ctx context.Context, reason string) error {
			return h.Cancel(ctx, reason)
		})
}

func newTerminate(a *app) *cobra.Command {
	return newEnder(a, &cobra.Command{
		Use:   "terminate ID",
		Short: "End an instance at once, without running its code",
		Long: "Terminate ends the instance without running its code again. Nothing is cleaned up, and its waiting messages\n" +
			"become dead letters. Prefer 'perdure cancel' if the code still responds.",
	}, "terminate", "terminated %s\n", (*client.Client).Terminate, client.Handle[json.RawMessage].Terminate)
}

func newUnblock(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unblock ID",
		Short: "Retry a blocked instance at once",
		Long: "Unblock clears the blocked flag, so that the next turn is tried at once. Fix the cause first. Blocked instances\n" +
			"are listed by 'perdure list --blocked'. A held instance runs only after unblock; the others retry on their own.",
		Args: arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			blocked := func(d client.Description, err error) error {
				if err == nil && d.Blocked == nil && !d.Status.Ended() {
					err = fmt.Errorf("unblocking %q: %w; see 'perdure list --blocked'", args[0], errNotBlocked)
				}
				return err
			}
			id, err := actOn(ctx, c, args[0], *byKey, func(id string) error {
				if err := blocked(c.Describe(ctx, id)); err != nil {
					return err
				}
				return c.Unblock(ctx, id)
			}, func(h client.Handle[json.RawMessage]) error {
				if err := blocked(h.Describe(ctx)); err != nil {
					return err
				}
				return h.Unblock(ctx)
			})
			if err != nil {
				return err
			}
			out := steered{ID: id, Action: "unblock"}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "unblocked %s\n", plain(out.ID)) })
		})
	}
	return cmd
}

func newDropMessage(a *app) *cobra.Command {
	reason := ""
	cmd := &cobra.Command{
		Use:   "drop-message ID NUMBER",
		Short: "Move the message that blocks an instance to the dead letters",
		Long: "Drop-message moves one waiting message to the dead letters, so that the instance goes on without it. The text of\n" +
			"a blocked instance names the message; see 'perdure describe'. 'perdure dead-letter' lists it and can put it back.",
		Example: "  perdure drop-message order-42 17 --reason 'no JSON' --db orders.db",
		Args:    arguments,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		number, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil {
			return fmt.Errorf("drop-message: %w: %q is not the number of a message; 'perdure describe' has it", client.ErrInvalid, args[1])
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if err := c.DropMessage(ctx, args[0], number, reason); err != nil {
				return err
			}
			out := dropped{ID: args[0], Action: "drop-message", Message: number, Reason: reason}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "dropped message %d of %s\n", number, plain(out.ID)) })
		})
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for people to read, stored with the dead letter")
	return cmd
}

// dropped is the output of drop-message.
type dropped struct {
	ID      string `json:"id"`
	Action  string `json:"action"`
	Message int64  `json:"message"`
	Reason  string `json:"reason,omitempty"`
}

// newEnder completes a command that stops one instance with a reason.
func newEnder(
	a *app, cmd *cobra.Command, action, done string, stop func(*client.Client, context.Context, string, string) error,
	one func(client.Handle[json.RawMessage], context.Context, string) error,
) *cobra.Command {
	reason := ""
	byKey := keyFlag(cmd)
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			id, err := actOn(ctx, c, args[0], *byKey, func(id string) error { return stop(c, ctx, id, reason) },
				func(h client.Handle[json.RawMessage]) error { return one(h, ctx, reason) })
			if err != nil {
				return err
			}
			out := steered{ID: id, Action: action, Reason: reason}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, done, plain(out.ID)) })
		})
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for people to read, stored in the history")
	return cmd
}
