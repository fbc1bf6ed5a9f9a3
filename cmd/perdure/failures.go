package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

// newestShown is how many instances of a group the command failures shows.
const newestShown = 5

// maxGroups is the most that failures shows.
const maxGroups = 1_000

// groupsShown is the output of failures.
type groupsShown struct {
	Groups  []client.FailureGroup `json:"groups"`
	AtLeast bool                  `json:"atLeast,omitempty"` // older instances were not looked at
	AsOf    time.Time             `json:"asOf"`
}

// groupShown is the output of failures with a group.
type groupShown struct {
	client.FailureGroup

	AtLeast   bool                 `json:"atLeast,omitempty"`
	Instances []client.Description `json:"instances"` // the newest
}

func newFailures(a *app) *cobra.Command {
	query, since := client.FailureGroupsQuery{}, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "failures [GROUP]",
		Short: "Show what fails: failed instances in groups of the same error",
		Long: "Failures groups the newest 5,000 failed instances by orchestration, activity, type, code and text of the error. UUIDs, dates,\n" +
			"times and long numbers in the text do not count. With GROUP it shows the different texts of one group, and its newest\n" +
			"instances. Instances that an older release has closed have no group.",
		Example: "  perdure failures --since 24h --db orders.db\n  perdure failures 1-c307dea1235b7ee34fb3 --db orders.db",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if query.Max < 1 || query.Max > maxGroups {
				return badUsage("flag --limit is %d: it must be from 1 to %d", query.Max, maxGroups)
			}
			if since < 0 {
				return badUsage("flag --since is %v: it must be a duration, such as 24h", since)
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				if since > 0 {
					now, err := c.Now(ctx)
					if err != nil {
						return err
					}
					query.EndedAfter = now.Add(-since)
				}
				if len(args) == 1 {
					query.Group = args[0]
					return a.showGroup(ctx, cmd, c, query)
				}
				groups, err := c.FailureGroups(ctx, query)
				if err != nil {
					return err
				}
				if len(groups.Items) == 0 && a.output != outputJSON {
					fmt.Fprintln(cmd.ErrOrStderr(), noGroup(&query, groups.AtLeast)+" has a group")
				}
				out := groupsShown{groups.Items, groups.AtLeast, groups.AsOf}
				return a.showLines(cmd, out, each(groups.Items), func(w *grid) { failuresTable(w, &groups) })
			})
		},
	}
	cmd.Flags().StringVar(&query.Orchestration, "name", "", "only instances of this orchestration")
	cmd.Flags().DurationVar(&since, "since", 0, "only instances that ended not longer ago than this, such as 24h")
	cmd.Flags().IntVar(&query.Max, "limit", 100, "maximum number of groups, up to 1000")
	return cmd
}

// showGroup shows one group.
func (a *app) showGroup(ctx context.Context, cmd *cobra.Command, c *client.Client, query client.FailureGroupsQuery) error {
	groups, err := c.FailureGroups(ctx, query)
	if err != nil {
		return err
	}
	if len(groups.Items) == 0 {
		return fmt.Errorf("group %s: %w: %s is in it: see perdure failures", query.Group, client.ErrNotFound, noGroup(&query, groups.AtLeast))
	}
	newest, err := c.List(ctx, client.Filter{FailureGroup: query.Group}, client.Page{Size: newestShown, Omit: []client.Column{
		client.ColumnAttributes, client.ColumnCustomStatus, client.ColumnBlockedMessage,
	}})
	if err != nil {
		return err
	}
	out := groupShown{groups.Items[0], groups.AtLeast, newest.Items}
	return a.show(cmd, out, func(w *grid) { groupTable(w, &out) })
}

// noGroup begins a sentence about failed instances of which a query has found none. cut says that older ones were not looked at.
func noGroup(query *client.FailureGroupsQuery, cut bool) string {
	text := "no failed instance"
	if cut {
		text = "none of the newest 5,000 failed instances"
	}
	if query.Orchestration != "" {
		text += " of " + strconv.Quote(query.Orchestration)
	}
	if !query.EndedAfter.IsZero() {
		text += " that ended after " + instant(query.EndedAfter)
	}
	return text
}

func failuresTable(w *grid, groups *client.FailureGroups) {
	row(w, "GROUP", "COUNT", "FIRST", "LAST", "ORCHESTRATION", "VERSIONS", "ERROR")
	for i := range groups.Items {
		g := &groups.Items[i]
		row(w, g.Group, atLeast(g.Count, groups.AtLeast), instant(g.First), instant(g.Last), g.Orchestration, versionsText(g.Versions), excerptText(g.Excerpt))
	}
}

func groupTable(w *grid, g *groupShown) {
	row(w, "Group", g.Group)
	row(w, "Orchestration", g.Orchestration)
	row(w, "Versions", versionsText(g.Versions))
	row(w, "Count", atLeast(g.Count, g.AtLeast))
	row(w, "First", instant(g.First))
	row(w, "Last", instant(g.Last))
	row(w)
	row(w, "COUNT", "TEXT")
	for i := range g.Texts {
		row(w, g.Texts[i].Count, excerptText(&g.Texts[i].Excerpt))
	}
	if g.OtherTexts > 0 {
		row(w, g.OtherTexts, "(with a text that is not shown)")
	}
	row(w)
	row(w, "NEWEST", "ENDED", "ERROR")
	for i := range g.Instances {
		d := &g.Instances[i]
		row(w, d.ID, instant(d.EndedAt), excerptText(d.Excerpt))
	}
	row(w)
	row(w, "All of them: perdure list --failure-group "+g.Group)
}

// atLeast returns a number that may be higher.
func atLeast(n int64, more bool) string { return client.Counted{Count: n, Exact: !more}.String() }

func versionsText(versions []string) string {
	shown := make([]string, 0, len(versions))
	for _, v := range versions {
		if v == "" {
			v = "(none)"
		}
		shown = append(shown, v)
	}
	return strings.Join(shown, ", ")
}

// excerptText returns an error in one line; nil: it is not known.
func excerptText(e *client.Excerpt) string {
	if e == nil {
		return "(open to see)"
	}
	return strings.Join(strings.Fields(e.String()), " ")
}

// retryingListed is the output of retrying.
type retryingListed struct {
	Activities []client.ListedActivity `json:"activities"`
	More       bool                    `json:"more"` // the limit cut the list
	AsOf       time.Time               `json:"asOf"`
}

func newRetrying(a *app) *cobra.Command {
	query, limit := client.ActivitiesQuery{Retrying: true}, 0
	cmd := &cobra.Command{
		Use:   "retrying",
		Short: "Show which activities are tried again: attempt, last error, next try",
		Long: "Retrying lists the pending activities of all instances that are tried again, because an attempt failed or was lost with its\n" +
			"node. Local activities are tried again inside a turn: they are never listed. SINCE is when the first attempt failed, or when\n" +
			"the activity was scheduled if that is no longer kept.",
		Example: "  perdure retrying --db orders.db\n  perdure retrying --queue mail -o json --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return badUsage("flag --limit is %d: it must be 1 or more", limit)
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out, err := retryingUpTo(ctx, c, query, limit)
				if err != nil {
					return err
				}
				if out.More && a.output != outputJSON {
					fmt.Fprintf(cmd.ErrOrStderr(), "the list is cut after %s: raise --limit for more\n", amount.Of(limit, "activity"))
				}
				return a.showLines(cmd, out, each(out.Activities), func(w *grid) { retryingTable(w, &out) })
			})
		},
	}
	cmd.Flags().StringVar(&query.Queue, "queue", "", "only activities of this queue")
	cmd.Flags().StringVar(&query.Name, "name", "", "only activities with this name")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of activities")
	return cmd
}

// retryingUpTo reads pages until it has so many activities.
func retryingUpTo(ctx context.Context, c *client.Client, query client.ActivitiesQuery, limit int) (retryingListed, error) {
	const page = 1_000
	out := retryingListed{Activities: []client.ListedActivity{}}
	for cursor := ""; ; {
		list, err := c.Activities(ctx, query, client.Page{Size: min(limit-len(out.Activities), page), Cursor: cursor})
		if err != nil {
			return retryingListed{}, err
		}
		out.Activities, out.AsOf, cursor = append(out.Activities, list.Items...), list.AsOf, list.Cursor
		if out.More = cursor != ""; !out.More || len(out.Activities) >= limit {
			return out, nil
		}
	}
}

func retryingTable(w *grid, out *retryingListed) {
	row(w, "INSTANCE", "ACTIVITY", "QUEUE", "STATE", "ATTEMPT", "DELIVERIES", "SINCE", "NEXT TRY", "LAST ERROR")
	for i := range out.Activities {
		t := &out.Activities[i]
		next, last := "-", "(lost with its node)"
		switch {
		case t.State != client.ActivityQueued:
		case t.NotBefore.After(out.AsOf):
			next = instant(t.NotBefore)
		default: // its pause is over
			next = "due"
		}
		if t.Failure != nil {
			last = excerptText(&client.Excerpt{Text: t.Failure.Message})
		}
		row(w, t.InstanceID, t.Name, t.Queue, t.State, t.Attempt, t.Deliveries, instant(t.Since), next, last)
	}
}
