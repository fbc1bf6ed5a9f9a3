package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// events is the output of history.
type events struct {
	ID     string                `json:"id"`
	Events []client.HistoryEvent `json:"events"`
}

func newHistory(a *app) *cobra.Command {
	execution := int64(0)
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Print the events of an instance",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out := events{ID: args[0], Events: []client.HistoryEvent{}}
				for e, err := range c.History(ctx, args[0], execution) {
					if err != nil {
						return err
					}
					out.Events = append(out.Events, e)
				}
				return a.show(cmd, out, func(w *tabwriter.Writer) { historyTable(w, out.Events) })
			})
		},
	}
	cmd.Flags().Int64Var(&execution, "execution", 0, "number of the execution, from 1 (default: the current one)")
	return cmd
}

func historyTable(w *tabwriter.Writer, events []client.HistoryEvent) {
	row(w, "EVENT", "TIME", "KIND", "DETAIL")
	start := time.Time{}
	say := newNarrator(eventLimit)
	for i := range events {
		e := &events[i]
		at := fmt.Sprintf("+%.3fs", e.Time.Sub(start).Seconds())
		if i == 0 {
			start = e.Time
			at = e.Time.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		row(w, e.ID, at, e.Kind, say.text(e))
		for j := range e.Attempts {
			row(w, "", "", fmt.Sprintf("attempt %d", e.Attempts[j].Number), attemptText(&e.Attempts[j]))
		}
	}
}
