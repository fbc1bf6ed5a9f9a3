package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	execution, path := int64(0), ""
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "Print the events of an instance",
		Long: "History prints the events of an execution of an instance. With --export it writes them to a file, which the replay\n" +
			"check of your service reads. The file has payloads, as the database does: only its owner may read it.",
		Example: "  perdure history order-42 --db orders.db\n  perdure history order-42 --export order-42.history --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notEmpty(cmd, "export", len(path)); err != nil {
				return err
			}
			if path != "" {
				return a.exportHistory(cmd, args[0], execution, path)
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out := events{ID: args[0], Events: []client.HistoryEvent{}}
				for e, err := range c.History(ctx, args[0], execution) {
					if err != nil {
						return err
					}
					out.Events = append(out.Events, e)
				}
				return a.showLines(cmd, out, each(out.Events), func(w *tabwriter.Writer) { historyTable(w, out.Events) })
			})
		},
	}
	cmd.Flags().Int64Var(&execution, "execution", 0, "number of the execution, from 1 (default: the current one)")
	cmd.Flags().StringVar(&path, "export", "", "write the history to this file in place of printing it")
	return cmd
}

// exported is the output of history --export.
type exported struct {
	ID        string `json:"id"`
	Execution int64  `json:"execution"`
	Events    int    `json:"events"`
	File      string `json:"file"`
}

func (a *app) exportHistory(cmd *cobra.Command, id string, execution int64, path string) error {
	return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
		h, err := c.ExportHistory(ctx, id, execution)
		if err != nil {
			return err
		}
		if err := writeFile(path, func(w io.Writer) error { return client.WriteHistory(w, h) }); err != nil {
			return fmt.Errorf("exporting the history of %q: %w", id, err)
		}
		out := exported{ID: h.InstanceID, Execution: h.Execution, Events: len(h.Events), File: path}
		return a.show(cmd, out, func(w *tabwriter.Writer) {
			row(w, fmt.Sprintf("%s of %s, execution %d, written to %s", plural(out.Events, "event"), out.ID, out.Execution, out.File))
		})
	})
}

// writeFile replaces a file by what write writes, or leaves it as it is.
func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // only its owner may read it
	if err != nil {
		return err
	}
	text := bufio.NewWriter(f)
	err = write(text)
	if err == nil {
		err = text.Flush()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
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
