package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
)

// scheduled is the output of the commands that change a schedule.
type scheduled struct {
	Schedule string            `json:"schedule"`
	Action   string            `json:"action"`
	Note     string            `json:"note,omitempty"`
	Runs     int               `json:"runs,omitempty"` // of a backfill
	Trigger  *client.Triggered `json:"trigger,omitempty"`
	Times    string            `json:"times,omitempty"` // as they are now, after create and update
	Next     []time.Time       `json:"next,omitempty"`  // due times; none while it is paused

	paused bool // after create and update
}

// timesShown is how many due times create and update show.
const timesShown = 3

// specified adds the times of a schedule as they are now. A flag such as --every stands beside the times that were there before, so a command
// that did not show the sum would hide that.
func (s *scheduled) specified(ctx context.Context, c *client.Client, spec client.ScheduleSpec) {
	s.Times = timesText(&spec)
	if s.paused {
		return
	}
	if now, err := c.Now(ctx); err == nil { // the change is stored already: it does not fail for want of what is shown
		s.Next, _ = client.NextTimes(spec, now, timesShown)
	}
}

// write shows what was done and the times.
func (s *scheduled) write(w *grid, done string) {
	fmt.Fprintf(w, "%s schedule %s\n", done, plain(s.Schedule))
	row(w, "times", s.Times)
	for _, at := range s.Next {
		row(w, "next", instant(at))
	}
	switch {
	case s.paused:
		row(w, "next", "none while it is paused")
	case len(s.Next) == 0:
		row(w, "next", "none")
	}
}

func newSchedule(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Create, show and steer schedules, which start instances at set times",
		Long: "A schedule starts an instance at each of its due times. It lives in the database and runs on the nodes of the service.\n" +
			"Its runs are instances with IDs such as nightly/2026-11-24T02:30:00Z.",
	}
	cmd.AddCommand(
		newScheduleCreate(a), newScheduleList(a), newScheduleShow(a), newScheduleUpdate(a), newScheduleNext(a),
		newScheduleNote(a, &cobra.Command{
			Use:   "pause ID",
			Short: "Stop a schedule from starting runs",
			Long:  "Pause stops the due times of a schedule. Runs that go on are not touched.",
		}, "pause", "paused %s\n", client.Schedule.Pause),
		newScheduleNote(a, &cobra.Command{
			Use:   "resume ID",
			Short: "Let a paused schedule go on",
			Long:  "Resume lets a schedule go on. Due times of the pause are not caught up; see 'perdure schedule backfill'.",
		}, "resume", "resumed %s\n", client.Schedule.Resume),
		newScheduleTrigger(a), newScheduleBackfill(a), newScheduleDelete(a),
	)
	return cmd
}

func newScheduleCreate(a *app) *cobra.Command {
	var input, version, note string
	var paused bool
	var times specFlags
	cmd := &cobra.Command{
		Use:   "create ID NAME",
		Short: "Create a schedule that starts the orchestration NAME",
		Long: "Create stores a schedule. Its first due time is after now. Give its times with --cron, --every and --at. A cron has the\n" +
			"fields minute, hour, day, month and weekday, or the second in front of them. Runs have the newest version of the\n" +
			"orchestration that a node has, unless --version chooses one.",
		Example: "  perdure schedule create nightly Report --cron '30 2 * * *' --zone Europe/Berlin --input '{\"kind\": \"full\"}' --db orders.db\n" +
			"  perdure schedule create poll Poll --every 5m+30s --overlap buffer-one --db orders.db",
		Args: arguments,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		payload, err := inputFlag(cmd, input)
		if err != nil {
			return err
		}
		var spec client.ScheduleSpec
		if err := times.apply(cmd, &spec); err != nil {
			return err
		}
		var opts []client.ScheduleOption
		if cmd.Flags().Changed("version") {
			opts = append(opts, client.RunVersion(version))
		}
		if paused || note != "" {
			if !paused {
				return badUsage("flag --note without --paused: leave it out")
			}
			opts = append(opts, client.CreatePaused(note))
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			s, err := client.CreateScheduleNamed(ctx, c, args[0], spec, args[1], payload, opts...)
			if err != nil {
				return err
			}
			if d, err := s.Describe(ctx); err == nil && d.NoNode {
				fmt.Fprintln(cmd.ErrOrStderr(), "no node of the database runs schedules: it begins when one does")
			}
			out := scheduled{Schedule: args[0], Action: "create", Note: note, paused: paused}
			out.specified(ctx, c, spec)
			return a.show(cmd, out, func(w *grid) { out.write(w, "created") })
		})
	}
	times.add(cmd)
	cmd.Flags().StringVar(&input, "input", "", "input of the runs as JSON, @file, or - for standard input (default: null)")
	cmd.Flags().StringVar(&version, "version", "", "version of the code of the runs (default: the newest that a node has)")
	cmd.Flags().BoolVar(&paused, "paused", false, "create it paused")
	cmd.Flags().StringVar(&note, "note", "", "note on the pause, for people to read")
	return cmd
}

func newScheduleUpdate(a *app) *cobra.Command {
	var times specFlags
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change the times of a schedule, or what it does when one is late or overlaps",
		Long: "Update changes what its flags name and keeps all else. A flag that can be repeated replaces the whole list, and is\n" +
			"emptied by an empty value: --every 5m --cron '' replaces crons by an interval, and --every 5m alone stands beside them.\n" +
			"It prints the times as they are then. Due times before the change are not caught up.",
		Example: "  perdure schedule update nightly --cron '0 3 * * *' --zone '' --db orders.db",
		Args:    arguments,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !times.given(cmd) {
			return badUsage("nothing to change: give a flag such as --cron")
		}
		if err := times.apply(cmd, &client.ScheduleSpec{}); err != nil {
			return err
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			var updated client.ScheduleSpec
			err := c.Schedule(args[0]).Update(ctx, func(spec *client.ScheduleSpec) error {
				err := times.apply(cmd, spec)
				updated = *spec
				return err
			})
			if err != nil {
				return err
			}
			out := scheduled{Schedule: args[0], Action: "update"}
			if d, err := c.Schedule(args[0]).Describe(ctx); err == nil {
				out.paused = d.Paused
			}
			out.specified(ctx, c, updated)
			return a.show(cmd, out, func(w *grid) { out.write(w, "updated") })
		})
	}
	times.add(cmd)
	return cmd
}

// newScheduleNote completes a command that takes a note.
func newScheduleNote(
	a *app, cmd *cobra.Command, action, done string, act func(client.Schedule, context.Context, string) error,
) *cobra.Command {
	note := ""
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if err := act(c.Schedule(args[0]), ctx, note); err != nil {
				return err
			}
			out := scheduled{Schedule: args[0], Action: action, Note: note}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, done, plain(out.Schedule)) })
		})
	}
	cmd.Flags().StringVar(&note, "note", "", "note for people to read, stored with the schedule")
	return cmd
}

func newScheduleTrigger(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "trigger ID",
		Short: "Start a run of a schedule now",
		Long: "Trigger starts a run now, also while the schedule is paused. The overlap holds: if a run goes on, the command says\n" +
			"what became of the new one.",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				t, err := c.Schedule(args[0]).Trigger(ctx)
				if err != nil {
					return err
				}
				out := scheduled{Schedule: args[0], Action: "trigger", Trigger: &t}
				return a.show(cmd, out, func(w *grid) {
					if t.Run != nil {
						fmt.Fprintf(w, "started %s\n", plain(t.Run.ID))
						return
					}
					fmt.Fprintf(w, "started nothing now: %s %s\n", t.Reason, plain(t.Detail))
				})
			})
		},
	}
}

func newScheduleBackfill(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backfill ID FROM TO",
		Short: "Start runs for due times of the past",
		Long: "Backfill starts a run for each due time from FROM to TO, both inclusive, at most 1000. The runs start one after the\n" +
			"other, as the overlap allows. FROM and TO are times such as 2026-11-24T02:30:00Z.",
		Args: arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := parseTime("argument FROM", args[1])
			if err != nil {
				return err
			}
			to, err := parseTime("argument TO", args[2])
			if err != nil {
				return err
			}
			return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				n, err := c.Schedule(args[0]).Backfill(ctx, from, to)
				if err != nil {
					return err
				}
				out := scheduled{Schedule: args[0], Action: "backfill", Runs: n}
				return a.show(cmd, out, func(w *grid) {
					fmt.Fprintf(w, "%s of %s will start\n", amount.Of(n, "run"), plain(out.Schedule))
				})
			})
		},
	}
}

func newScheduleDelete(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "End a schedule for good",
		Long:  "Delete ends a schedule. Its runs are not touched.",
		Args:  arguments,
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.confirm(cmd, *yes, "delete the schedule "+args[0]); err != nil {
			return err
		}
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if err := c.Schedule(args[0]).Delete(ctx); err != nil {
				return err
			}
			out := scheduled{Schedule: args[0], Action: "delete"}
			return a.show(cmd, out, func(w *grid) { fmt.Fprintf(w, "deleted schedule %s\n", plain(out.Schedule)) })
		})
	}
	return cmd
}
