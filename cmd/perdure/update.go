package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// updated is the output of update.
type updated struct {
	ID       string          `json:"id"`
	Update   string          `json:"update"`
	UpdateID string          `json:"updateId"`
	Stage    string          `json:"stage"` // "accepted" or "completed"
	Output   json.RawMessage `json:"output,omitempty"`
}

func newUpdate(a *app) *cobra.Command {
	var input, id string
	var accepted bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "update INSTANCE NAME",
		Short: "Call a handler of an instance and wait for its output",
		Long: "Update calls the handler that the code of the instance has registered under NAME, and prints its output. A service that\n" +
			"runs the orchestration must be running on the database. When the time is over, the update goes on: repeat the command\n" +
			"with the same --id and input to wait again. An instance takes each ID once.",
		Example: "  perdure update order-42 add --input '{\"sku\":7}' --id req-1 --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout <= 0 {
				return badUsage("flag --timeout is %v: give more than zero", timeout)
			}
			payload, err := inputFlag(cmd, input)
			if err != nil {
				return err
			}
			var opts []client.RaiseOption
			if cmd.Flags().Changed("id") {
				opts = append(opts, client.WithUpdateID(id))
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				ctx, cancel := context.WithTimeout(ctx, timeout)
				defer cancel()
				out, err := runUpdate(ctx, c, args[0], args[1], payload, accepted, opts)
				if err != nil {
					return err
				}
				return a.show(cmd, out, func(w *grid) {
					if accepted {
						row(w, "accepted", "update "+strconv.Quote(out.UpdateID)+" of "+out.ID)
						return
					}
					fmt.Fprintln(w, answerText(out.Output))
				})
			})
		},
	}
	cmd.Flags().StringVar(&input, "input", "", "input as JSON, @file, or - for standard input (default: none)")
	cmd.Flags().StringVar(&id, "id", "", "ID of the update, which makes it repeatable (default: a random one)")
	cmd.Flags().BoolVar(&accepted, "until-accepted", false, "wait only until the handler has the update")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long to wait")
	return cmd
}

func runUpdate(ctx context.Context, c *client.Client, id, name string, in any, accepted bool, opts []client.RaiseOption) (updated, error) {
	h, err := client.Lookup[json.RawMessage](ctx, c, id)
	if err != nil {
		return updated{}, err
	}
	u, err := client.SendUpdate[json.RawMessage](ctx, h, name, in, opts...)
	if err != nil {
		return updated{}, err
	}
	out := updated{ID: h.ID(), Update: name, UpdateID: u.ID(), Stage: "completed"}
	var wait []client.WaitOption
	if accepted {
		out.Stage, wait = "accepted", append(wait, client.UntilAccepted())
	}
	if out.Output, err = u.Wait(ctx, wait...); err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: the update %q goes on; repeat the command with --id %s to wait again; 'perdure describe' tells if it is blocked", err, u.ID(), u.ID())
	}
	if errors.Is(err, client.ErrNotCarried) {
		err = fmt.Errorf("%w; the handler has run and returned %s", err, answerText(out.Output))
	}
	if accepted {
		out.Output = nil
	}
	return out, err
}

// updateRows shows the updates that have no outcome yet.
func updateRows(w *grid, d *client.Description) {
	for i := range d.Updates {
		u := &d.Updates[i]
		row(w, "update "+strconv.Quote(u.Name), fmt.Sprintf("%s since %s, ID %s", u.Stage, instant(u.Since), strconv.Quote(u.ID)))
	}
}
