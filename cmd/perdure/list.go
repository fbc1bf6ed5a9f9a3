package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
)

// listed is the output of list.
type listed struct {
	Instances []client.Description `json:"instances"`
	More      bool                 `json:"more"` // the limit cut the list
}

func newList(a *app) *cobra.Command {
	var filter client.Filter
	var statuses, attributes []string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List instances, newest first",
		Example: "  perdure list --status running --status suspended --db orders.db\n  perdure list --blocked -o json --db orders.db\n" +
			"  perdure list --attribute region=eu --attribute total:int=7 --db orders.db",
		Args: arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return badUsage("flag --limit is %d: it must be 1 or more", limit)
			}
			if err := notEmpty(cmd, "status", len(statuses)); err != nil {
				return err
			}
			if err := notEmpty(cmd, "name", len(filter.Orchestration)); err != nil {
				return err
			}
			var err error
			if filter.Statuses, err = parseStatuses(statuses); err != nil {
				return err
			}
			if filter.Attributes, err = parseAttributes(attributes); err != nil {
				return err
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out := listed{Instances: []client.Description{}}
				for d, err := range c.All(ctx, filter) {
					if err != nil {
						return err
					}
					if out.More = len(out.Instances) == limit; out.More {
						break
					}
					out.Instances = append(out.Instances, d)
				}
				if out.More && a.output != outputJSON {
					fmt.Fprintf(cmd.ErrOrStderr(), "the list is cut after %d instances: raise --limit for more\n", limit)
				}
				return a.showLines(cmd, out, each(out.Instances), func(w *tabwriter.Writer) { listTable(w, out.Instances) })
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&statuses, "status", nil, "only instances with this status, such as running; repeatable")
	flags.StringVar(&filter.Orchestration, "name", "", "only instances of this orchestration")
	flags.BoolVar(&filter.Blocked, "blocked", false, "only blocked instances, whose turns fail")
	flags.StringArrayVar(&attributes, "attribute", nil, "only instances with this attribute, such as region=eu or count:int=7; repeatable")
	flags.IntVar(&limit, "limit", 100, "maximum number of instances")
	return cmd
}

// parseStatuses parses statuses in upper or lower case.
func parseStatuses(given []string) ([]client.Status, error) {
	known := []client.Status{
		client.StatusRunning, client.StatusSuspended, client.StatusCompleted,
		client.StatusFailed, client.StatusCancelled, client.StatusTerminated,
	}
	var statuses []client.Status
next:
	for _, text := range given {
		for _, status := range known {
			if strings.EqualFold(text, string(status)) {
				statuses = append(statuses, status)
				continue next
			}
		}
		return nil, badUsage("flag --status is %q: it must be running, suspended, completed, failed, cancelled or terminated", text)
	}
	return statuses, nil
}

func listTable(w *tabwriter.Writer, instances []client.Description) {
	row(w, "ID", "ORCHESTRATION", "STATUS", "EXECUTION", "EVENTS", "CREATED", "ENDED")
	for i := range instances {
		d := &instances[i]
		row(w, d.ID, d.Orchestration, statusText(d), d.Execution, d.HistoryLength, instant(d.CreatedAt), instant(d.EndedAt))
	}
}

// statusText returns the status, and why the instance is blocked.
func statusText(d *client.Description) string {
	if d.Blocked == nil {
		return string(d.Status)
	}
	return fmt.Sprintf("%s (blocked: %s)", d.Status, d.Blocked.Reason)
}
