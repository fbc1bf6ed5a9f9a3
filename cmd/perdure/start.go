package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// started is the output of start.
type started struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

func newStart(a *app) *cobra.Command {
	var id, input string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "start NAME",
		Short: "Start an instance of an orchestration",
		Long: "Start stores a new instance of the orchestration NAME. The instance waits until a service that has registered\n" +
			"the orchestration runs on the database.",
		Example: "  perdure start Checkout --id order-42 --input '{\"cents\": 4200}' --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			var opts []client.StartOption
			payload, err := inputFlag(cmd, input)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("id") {
				opts = append(opts, client.WithID(id))
			}
			if cmd.Flags().Changed("time-limit") {
				opts = append(opts, client.WithTimeLimit(limit))
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				h, err := client.StartNamed[json.RawMessage](ctx, c, args[0], payload, opts...)
				if taken, ok := errors.AsType[*client.ExistsError](err); ok {
					return fmt.Errorf("starting %q: %w: give another --id, or look at it with 'perdure describe'", args[0], taken)
				}
				if err != nil {
					return err
				}
				out := started{ID: h.ID(), Key: h.Key().String()}
				return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "started %s\n", plain(out.ID)) })
			})
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "ID of the instance (default: a new UUID)")
	cmd.Flags().DurationVar(&limit, "time-limit", 0, "how long it may run, such as 24h; then it is cancelled, and terminated a minute later")
	cmd.Flags().StringVar(&input, "input", "", "input as JSON, @file, or - for standard input (default: null)")
	return cmd
}
