package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

// schedulesListed is the output of schedule list.
type schedulesListed struct {
	Schedules []client.ScheduleDescription `json:"schedules"`
	More      bool                         `json:"more"` // the limit cut the list
}

func newScheduleList(a *app) *cobra.Command {
	prefix, limit := "", 0
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List schedules, newest first",
		Example: "  perdure schedule list --prefix report/ -o json --db orders.db",
		Args:    arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return badUsage("flag --limit is %d: it must be 1 or more", limit)
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				out := schedulesListed{Schedules: []client.ScheduleDescription{}}
				for page := (client.Page{}); ; {
					found, err := c.Schedules(ctx, prefix, page)
					if err != nil {
						return err
					}
					out.Schedules = append(out.Schedules, found.Items...)
					if page.Cursor = found.Cursor; page.Cursor == "" || len(out.Schedules) > limit {
						break
					}
				}
				if out.More = len(out.Schedules) > limit; out.More {
					out.Schedules = out.Schedules[:limit]
				}
				if out.More && a.output != outputJSON {
					fmt.Fprintf(cmd.ErrOrStderr(), "the list is cut after %s: raise --limit for more\n", amount.Of(limit, "schedule"))
				}
				return a.showLines(cmd, out, each(out.Schedules), func(w *grid) { schedulesTable(w, out.Schedules) })
			})
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only schedules whose IDs begin with this")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of schedules")
	return cmd
}

func schedulesTable(w *grid, all []client.ScheduleDescription) {
	row(w, "ID", "ORCHESTRATION", "STATE", "TIMES", "NEXT", "STARTED", "FAILED", "SKIPPED", "RUNS")
	for i := range all {
		d := &all[i]
		next := "-"
		if len(d.Next) > 0 {
			next = instant(d.Next[0].At)
		}
		row(w, d.ID, cmp.Or(d.Orchestration, "-"), scheduleState(d), timesText(&d.Spec), next, d.Started, d.Failed, skipCount(d), d.Runs)
	}
}

func scheduleState(d *client.ScheduleDescription) string {
	switch {
	case d.Revision == 0:
		return "new"
	case len(d.Findings) > 0:
		return "attention"
	case d.Paused:
		return "paused"
	case d.Done:
		return "done"
	}
	return "active"
}

func skipCount(d *client.ScheduleDescription) (n int64) {
	for _, k := range d.Skips {
		n += k
	}
	return n
}

// timesText returns the times of a specification in one line.
func timesText(s *client.ScheduleSpec) string {
	var parts []string
	for _, c := range s.Crons {
		parts = append(parts, "cron "+c)
	}
	for _, i := range s.Every {
		text := "every " + amount.Span(i.Every)
		if i.Offset > 0 {
			text += "+" + amount.Span(i.Offset)
		}
		parts = append(parts, text)
	}
	if n := len(s.At); n > 0 {
		parts = append(parts, fmt.Sprintf("%d fixed", n))
	}
	text := strings.Join(parts, "; ")
	if s.Zone != "" {
		text += " in " + s.Zone
	}
	return cmp.Or(text, "-")
}

func newScheduleShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a schedule, its next times, its runs and what it skipped",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := c.Schedule(args[0]).Describe(ctx)
				if err != nil {
					return err
				}
				return a.show(cmd, d, func(w *grid) { scheduleTable(w, &d) })
			})
		},
	}
}

func scheduleTable(w *grid, d *client.ScheduleDescription) {
	row(w, "id", d.ID)
	row(w, "orchestration", cmp.Or(d.Orchestration, "-"))
	row(w, "state", scheduleState(d))
	for _, f := range d.Findings {
		row(w, "finding", f)
	}
	if d.Paused || d.Note != "" {
		row(w, "note", cmp.Or(d.Note, "-"))
	}
	row(w, "times", timesText(&d.Spec))
	for _, e := range d.Spec.Except {
		row(w, "except", e)
	}
	if !d.Spec.From.IsZero() || !d.Spec.Until.IsZero() {
		row(w, "bounds", instant(d.Spec.From)+" to "+instant(d.Spec.Until))
	}
	if d.Spec.Jitter > 0 {
		row(w, "jitter", amount.Span(d.Spec.Jitter))
	}
	row(w, "overlap", cmp.Or(d.Spec.Overlap, client.OverlapSkip))
	row(w, "created", instant(d.CreatedAt))
	if d.Principal != "" {
		row(w, "acts for", d.Principal)
	}
	row(w, "counts", fmt.Sprintf("%d started, %d failed, %d skipped", d.Started, d.Failed, skipCount(d)))
	for _, reason := range slices.Sorted(maps.Keys(d.Skips)) {
		row(w, "skipped", fmt.Sprintf("%d %s", d.Skips[reason], reason))
	}
	for _, n := range d.Next {
		row(w, "next", instant(n.At))
	}
	if !d.Waiting.IsZero() {
		row(w, "waiting", instant(d.Waiting))
	}
	for i := range d.Running {
		r := &d.Running[i]
		text := r.ID
		if r.Blocked > 0 {
			text += ", holds up " + amount.Of(r.Blocked, "due time")
		}
		row(w, "running", text)
	}
	for i := range d.Ended {
		row(w, "ended", d.Ended[i].ID+", "+d.Ended[i].Status)
	}
	for _, s := range d.Skipped {
		text := instant(s.Due) + ", " + s.Reason
		if s.Detail != "" {
			text += ": " + s.Detail
		}
		if s.Count > 1 {
			text += fmt.Sprintf(", and %d before it", s.Count-1)
		}
		row(w, "last skipped", text)
	}
}

// scheduleTimes is the output of schedule next.
type scheduleTimes struct {
	Next []time.Time `json:"next"`
}

func newScheduleNext(a *app) *cobra.Command {
	var times specFlags
	count, after := 0, ""
	cmd := &cobra.Command{
		Use:   "next [ID]",
		Short: "Show the next due times of a schedule, or of flags",
		Long: "Next computes due times on this machine. With an ID it takes the specification of that schedule, and flags change it.\n" +
			"Without an ID it takes the flags alone and needs no database.",
		Example: "  perdure schedule next --cron '30 2 * * *' --zone America/New_York --after 2026-03-07T00:00:00Z --count 3",
		Args:    arguments,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		begin := time.Now()
		if after != "" {
			at, err := parseTime("flag --after", after)
			if err != nil {
				return err
			}
			begin = at
		}
		var spec client.ScheduleSpec
		if len(args) == 1 {
			err := a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				d, err := c.Schedule(args[0]).Describe(ctx)
				if spec = d.Spec; err == nil && after == "" {
					begin, err = c.Now(ctx)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := times.apply(cmd, &spec); err != nil {
			return err
		}
		next, err := client.NextTimes(spec, begin, count)
		if errors.Is(err, client.ErrInvalid) {
			return badUsage("%w", err)
		}
		if err != nil {
			return err
		}
		out := scheduleTimes{Next: next}
		return a.showLines(cmd, out, each(out.Next), func(w *grid) { timesTable(w, next, spec.Zone) })
	}
	times.add(cmd)
	cmd.Flags().IntVar(&count, "count", 10, "how many due times, at most 1000")
	cmd.Flags().StringVar(&after, "after", "", "begin after this time (default: now)")
	return cmd
}

// timesTable shows due times in UTC and in the zone of the crons.
func timesTable(w *grid, next []time.Time, name string) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" {
		row(w, "NEXT")
		for _, at := range next {
			row(w, instant(at))
		}
		return
	}
	row(w, "NEXT", "LOCAL")
	for _, at := range next {
		row(w, instant(at), at.In(zone).Format("Mon 2006-01-02 15:04:05 -07:00"))
	}
}
