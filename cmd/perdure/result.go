package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// resulted is the output of result.
type resulted struct {
	ID     string          `json:"id"`
	Result json.RawMessage `json:"result"`
}

func newResult(a *app) *cobra.Command {
	wait, timeout := false, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "result ID",
		Short: "Print the output of an instance that has completed",
		Long: "Result prints the output of the instance as JSON. An instance that has failed, was cancelled or terminated is a failure\n" +
			"with its reason. One that still runs is a conflict, unless --wait waits for its end.",
		Example: "  perdure result order-42 --db orders.db\n  perdure result order-42 --wait --timeout 1h --db orders.db",
		Args:    arguments,
	}
	byKey := keyFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if timeout < 0 {
			return badUsage("flag --timeout is %v: it must not be negative", timeout)
		}
		if cmd.Flags().Changed("timeout") && !wait {
			return badUsage("flag --timeout without --wait: give both")
		}
		return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			h, err := instanceOf(ctx, c, args[0], *byKey)
			if err != nil {
				return err
			}
			out := resulted{ID: h.ID()}
			if wait {
				out.Result, err = waitFor(ctx, h, timeout)
			} else {
				out.Result, err = h.Result(ctx)
			}
			if err != nil {
				return err
			}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintln(w, plain(string(out.Result))) })
		})
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the instance has ended")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "with --wait: how long to wait")
	return cmd
}

// waitFor waits for the output of an instance; timeout 0 is no limit.
func waitFor(ctx context.Context, h client.Handle[json.RawMessage], timeout time.Duration) (json.RawMessage, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return h.Wait(ctx)
}
