package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/shell"
	"github.com/perdure/perdure/provider"
)

func newSuspend(a *app) *cobra.Command {
	return newPauser(a, &cobra.Command{
		Use:   "suspend ID",
		Short: "Stop an instance until it is resumed",
		Long: "Suspend stops an instance: its code does not run, and no activity of it begins. Activities that run go on, and their\n" +
			"results wait, as do events and timers. Children go on. 'perdure resume' ends it.",
	}, "suspend", "suspended %s\n", (*client.Client).Suspend, client.Handle[json.RawMessage].Suspend)
}

func newResume(a *app) *cobra.Command {
	return newPauser(a, &cobra.Command{
		Use:   "resume ID",
		Short: "Let a suspended instance go on",
		Long:  "Resume lets a suspended instance go on with all that waits. An instance that is not suspended stays as it is.",
	}, "resume", "resumed %s\n", (*client.Client).Resume, client.Handle[json.RawMessage].Resume)
}

// newPauser completes suspend or resume.
func newPauser(
	a *app, cmd *cobra.Command, action, done string, act func(*client.Client, context.Context, string, string, ...client.ActOption) error,
	one func(client.Handle[json.RawMessage], context.Context, string, ...client.ActOption) error,
) *cobra.Command {
	reason, request := "", ""
	byKey := keyFlag(cmd)
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var opts []client.ActOption
		if cmd.Flags().Changed("request-id") {
			opts = append(opts, client.Repeatable(request))
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			id, err := actOn(ctx, c, args[0], *byKey, func(id string) error { return act(c, ctx, id, reason, opts...) },
				func(h client.Handle[json.RawMessage]) error { return one(h, ctx, reason, opts...) })
			if err != nil {
				return err
			}
			out := steered{ID: id, Action: action, Reason: reason}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, done, plain(out.ID)) })
		})
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for people to read, kept in the audit")
	cmd.Flags().StringVar(&request, "request-id", "", "a repeat of the command with this ID happens once (default: a random one)")
	return cmd
}

// restarted is the output of restart.
type restarted struct {
	ID     string        `json:"id"`
	Action string        `json:"action"`
	New    string        `json:"new"` // ID of the new instance
	Key    provider.UUID `json:"key"` // of the new instance
	Reason string        `json:"reason,omitempty"`
}

func newRestart(a *app) *cobra.Command {
	id, reason, request, input := "", "", "", ""
	cmd := &cobra.Command{
		Use:   "restart ID",
		Short: "Start again what an instance was started with",
		Long: "Restart starts a new instance with the orchestration, version, input and header of an instance. It takes the ID of\n" +
			"the old one, which must have ended. With --id it has another ID, with --input another input. To go on from a point of the history, use reset.",
		Example: "  perdure restart order-42 --reason 'the bank is back' --db orders.db",
		Args:    arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if request == "" {
			request = uuid.NewString()
		}
		opts := []client.RestartOption{client.Repeatable(request)}
		if cmd.Flags().Changed("id") {
			opts = append(opts, client.RestartAs(id))
		}
		if cmd.Flags().Changed("input") {
			value, err := readJSON(cmd, "input", input)
			if err != nil {
				return err
			}
			opts = append(opts, client.RestartWithInput(value))
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			var h client.Handle[json.RawMessage]
			old, err := actOn(ctx, c, args[0], *byKey,
				func(id string) (err error) { h, err = c.Restart(ctx, id, reason, opts...); return err },
				func(one client.Handle[json.RawMessage]) (err error) {
					h, err = one.Restart(ctx, reason, opts...)
					return err
				})
			if err != nil {
				return fmt.Errorf("%w; to try the same again, add --request-id %s", err, shell.Word(request))
			}
			out := restarted{ID: old, Action: "restart", New: h.ID(), Key: h.Key(), Reason: reason}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "restarted %s as %s\n", plain(out.ID), plain(out.New)) })
		})
	}
	cmd.Flags().StringVar(&input, "input", "", "another input as JSON, @file, or - for standard input (default: that of the old one)")
	cmd.Flags().StringVar(&id, "id", "", "ID of the new instance (default: that of the old one)")
	cmd.Flags().StringVar(&reason, "reason", "", "reason for people to read, kept in the audit")
	cmd.Flags().StringVar(&request, "request-id", "", "a repeat of the command with this ID happens once (default: a random one)")
	return cmd
}

// acted is the output of acts on activities.
type acted struct {
	ID      string          `json:"id"`
	Action  string          `json:"action"`
	Event   int64           `json:"event"`
	Attempt int64           `json:"attempt"` // that the act was about
	Output  json.RawMessage `json:"output,omitempty"`
	Error   string          `json:"error,omitempty"`
	Reason  string          `json:"reason,omitempty"`
}
