package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

// listed is the output of list.
type listed struct {
	Instances []client.Description `json:"instances"`
	More      bool                 `json:"more"`             // the limit cut the list
	Cursor    string               `json:"cursor,omitempty"` // for --cursor, if there is more
	Search    string               `json:"search,omitempty"` // in its canonical form, with absolute times
}

func newList(a *app) *cobra.Command {
	var filter filterFlags
	limit, cursor := 0, ""
	cmd := &cobra.Command{
		Use:   "list [SEARCH]",
		Short: "List instances, newest first",
		Long:  "List lists instances, newest first.\n" + searchHelp,
		Example: "  perdure list --status running --status suspended --db orders.db\n  perdure list --blocked -o json --db orders.db\n" +
			"  perdure list --attribute region=eu --attribute total:int=7 --db orders.db\n  perdure list --status failed --ended-after 24h --db orders.db\n" +
			"  perdure list 'status:failed @region:eu started:<1h' --db orders.db\n  perdure list 'is:blocked OR status:suspended name:Order' --db orders.db",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return badUsage("flag --limit is %d: it must be 1 or more", limit)
			}
			if err := cmp.Or(filter.check(cmd), checkSearch(args)); err != nil {
				return err
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				s, err := filter.selects(ctx, cmd, a, c, args, cursor)
				if err != nil {
					return err
				}
				p := a.newProgress(cmd, "instance")
				out, err := listUpTo(ctx, c, &s, cursor, limit, func(n int) { p.set(int64(n), int64(limit)) })
				p.end()
				if err != nil {
					return err
				}
				if out.More && a.output != outputJSON {
					fmt.Fprintf(cmd.ErrOrStderr(), "the list is cut after %s: raise --limit for more, or go on with --cursor %s\n",
						amount.Of(limit, "instance"), out.Cursor)
				}
				return a.showLines(cmd, out, each(out.Instances), func(w *grid) { listTable(w, out.Instances) })
			})
		},
	}
	filter.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of instances")
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on after a list that was cut, with the cursor that it printed")
	return cmd
}

// listUpTo reads pages until it has so many instances.
func listUpTo(ctx context.Context, c *client.Client, s *selection, cursor string, limit int, progress func(n int)) (listed, error) {
	const page = 1_000
	out := listed{Instances: []client.Description{}, Cursor: cursor, Search: s.text()}
	for {
		list, err := s.list(ctx, c, client.Page{Size: min(limit-len(out.Instances), page), Cursor: out.Cursor})
		if err != nil {
			return listed{}, err
		}
		out.Instances, out.Cursor = append(out.Instances, list.Items...), list.Cursor
		progress(len(out.Instances))
		if out.More = out.Cursor != ""; !out.More || len(out.Instances) == limit {
			return out, nil
		}
	}
}

func listTable(w *grid, instances []client.Description) {
	if slices.ContainsFunc(instances, func(d client.Description) bool { return d.Waiting != nil }) {
		waitingTable(w, instances)
		return
	}
	if slices.ContainsFunc(instances, func(d client.Description) bool { return d.Excerpt != nil }) {
		failedTable(w, instances)
		return
	}
	row(w, "ID", "ORCHESTRATION", "STATUS", "EXECUTION", "EVENTS", "CREATED", "ENDED")
	for i := range instances {
		d := &instances[i]
		row(w, d.ID, d.Orchestration, statusText(d), d.Execution, d.HistoryLength, instant(d.CreatedAt), instant(d.EndedAt))
	}
}

// failedTable shows why instances have failed.
func failedTable(w *grid, instances []client.Description) {
	row(w, "ID", "ORCHESTRATION", "STATUS", "EXECUTION", "EVENTS", "CREATED", "ENDED", "ERROR")
	for i := range instances {
		d, text := &instances[i], ""
		if d.Status == client.StatusFailed {
			text = excerptText(d.Excerpt)
		}
		row(w, d.ID, d.Orchestration, statusText(d), d.Execution, d.HistoryLength, instant(d.CreatedAt), instant(d.EndedAt), text)
	}
}

// waitingTable shows what instances wait for.
func waitingTable(w *grid, instances []client.Description) {
	row(w, "ID", "ORCHESTRATION", "STATUS", "WAITS SINCE", "WAITS FOR")
	for i := range instances {
		d := &instances[i]
		since, text := "-", "-"
		if d.Waiting != nil {
			since, text = instant(d.Waiting.Since), d.Waiting.Text
		}
		row(w, d.ID, d.Orchestration, statusText(d), since, text)
	}
}

// statusText returns the status, and why the instance is blocked.
func statusText(d *client.Description) string {
	switch {
	case d.Sealed != nil:
		return "Sealed"
	case d.Deleting:
		return string(d.Status) + " (being deleted)"
	case d.Blocked == nil:
		return string(d.Status)
	}
	return fmt.Sprintf("%s (blocked: %s)", d.Status, d.Blocked.Reason)
}
