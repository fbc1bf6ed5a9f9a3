package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/operate"
)

func newBulk(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bulk",
		Short: "Act on many instances by a stored job",
		Long: "A bulk job acts on all instances that match a filter, one after the other. It is stored, so it goes on after crashes, on\n" +
			"any node, and acts on each instance once. It leaves out what is created after its start.",
	}
	cmd.AddCommand(newBulkPreview(a), newBulkStart(a), newBulkList(a), newBulkShow(a), newBulkStop(a), newBulkResume(a), newBulkFailures(a))
	return cmd
}

func newBulkPreview(a *app) *cobra.Command {
	var filter filterFlags
	cmd := &cobra.Command{
		Use:   "preview",
		Short: "Count what a job would act on, and show some of it",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := filter.check(cmd); err != nil {
				return err
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				f, err := filter.of(ctx, c)
				if err != nil {
					return err
				}
				p, err := operate.New(c).PreviewBulk(ctx, f)
				if err != nil {
					return err
				}
				return a.show(cmd, p, func(w *grid) {
					fmt.Fprintln(w, matching(p.Counted))
					listTable(w, p.Sample)
					for _, t := range p.Texts {
						fmt.Fprintf(w, "%d of the newest: %s\n", t.Count, plain(t.Text))
					}
					if p.OtherTexts {
						fmt.Fprintln(w, "there may be other texts")
					}
				})
			})
		},
	}
	filter.add(cmd)
	return cmd
}

// matching says how many instances match.
func matching(n client.Counted) string {
	switch {
	case !n.Exact:
		return amount.Of(n.Count, "instance") + " or more match"
	case n.Count == 1:
		return "1 instance matches"
	}
	return amount.Of(n.Count, "instance") + " match"
}

func newBulkStart(a *app) *cobra.Command {
	var filter filterFlags
	var job operate.BulkJob
	payload := ""
	wait := false
	cmd := &cobra.Command{
		Use:   "start ACT",
		Short: "Start a job",
		Long: "Start previews the job, asks, and starts it. ACT is cancel, terminate, suspend, resume, unblock, raise, restart, reset,\n" +
			"fork, move, delete or redrive. The job acts on no more instances than the preview counted, or than --max.",
		Example: "  perdure bulk start cancel --name Checkout --created-before 24h --reason 'old version' --yes --db orders.db",
		Args:    arguments,
	}
	filter.add(cmd)
	yes := yesFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&job.ID, "job", "", "ID of the job; default a random one")
	flags.Int64Var(&job.Max, "max", 0, "most instances to act on; default: as many as match now")
	flags.Float64Var(&job.Rate, "rate", 0, "instances a second; 0 is no limit")
	flags.StringVar(&job.Text, "text", "", "with --failure-group: only instances whose error has this text, as bulk preview shows it")
	flags.BoolVar(&job.AllTexts, "all-texts", false, "with --failure-group: instances with any text of the group")
	flags.StringVar(&job.Reason, "reason", "", "cancel, terminate, restart, reset, fork: reason for people to read")
	flags.StringVar(&job.Event, "event", "", "raise: name of the event")
	flags.StringVar(&payload, "payload", "null", "raise: payload as JSON, @file, or - for standard input")
	flags.StringVar(&job.Version, "to", "", "move: version of the code")
	flags.BoolVar(&job.Force, "force", false, "delete: also those that run")
	flags.Int64Var(&job.Point, "at", 0, "reset, fork: event before which each new history begins to differ; 1 is the beginning")
	flags.BoolVar(&job.DropLater, "drop-later", false, "reset: forget the events that were received after the point")
	flags.StringVar(&job.Prefix, "fork-prefix", "", "fork: the ID of each new instance is that of its origin behind this text")
	flags.BoolVar(&wait, "wait", false, "wait for the end of the job, and show how far it is")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		job.Act = client.Act(args[0])
		if err := filter.check(cmd); err != nil {
			return err
		}
		if filter.filter.FailureGroup != "" && (job.Text != "") == job.AllTexts {
			return badUsage("flag --failure-group: a group may have several texts, which bulk preview shows: give --text or --all-texts")
		}
		value, err := readJSON(cmd, "payload", payload)
		if err != nil {
			return err
		}
		job.Payload = value
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if job.Filter, err = filter.of(ctx, c); err != nil {
				return err
			}
			b, err := a.startBulk(ctx, cmd, c, &job, *yes)
			if errors.Is(err, errNoMatch) {
				return a.show(cmd, bulkNone{}, func(w *grid) { fmt.Fprintln(w, "no instance matches: no job was started") })
			}
			if err != nil {
				return err
			}
			if wait {
				if err := a.followBulk(ctx, cmd, b); err != nil {
					return err
				}
			}
			return a.showBulk(ctx, cmd, b)
		})
	}
	return cmd
}

// errNoMatch is the error of starting a job that would act on nothing.
var errNoMatch = errors.New("no instance matches")

// bulkNone is the output of bulk start if no instance matches.
type bulkNone struct {
	Started bool `json:"started"` // always false
}

// startBulk previews the job and starts it if the user wants it.
func (a *app) startBulk(ctx context.Context, cmd *cobra.Command, c *client.Client, job *operate.BulkJob, yes bool) (operate.Bulk, error) {
	p, err := operate.New(c).PreviewBulk(ctx, job.Filter)
	if err != nil {
		return operate.Bulk{}, err
	}
	if p.Exact && p.Count == 0 {
		return operate.Bulk{}, errNoMatch
	}
	job.Before = p.At
	if job.Max == 0 {
		if !p.Exact {
			return operate.Bulk{}, badUsage("%s or more match: give --max, or a filter that fewer match", amount.Of(p.Count, "instance"))
		}
		job.Max = p.Count
	}
	what := fmt.Sprintf("%s %s", job.Act, amount.Of(job.Max, "instance"))
	if n := matching(p.Counted); job.Max > p.Count {
		what = fmt.Sprintf("%s at most %s (%s)", job.Act, amount.Of(job.Max, "instance"), n)
	} else if job.Max < p.Count {
		what += " of those that match (" + n + ")"
	}
	if err := a.confirm(cmd, yes, what); err != nil { //nolint:contextcheck // it takes that of cmd, which is ctx
		return operate.Bulk{}, err
	}
	return operate.New(c).StartBulk(ctx, *job)
}

// followBulk waits for the end of a job.
func (a *app) followBulk(ctx context.Context, cmd *cobra.Command, b operate.Bulk) error {
	shown := a.newProgress(cmd, "instance")
	defer shown.end()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := b.Describe(ctx)
		if err != nil {
			return err
		}
		if info.Over() || info.Phase == operate.BulkStopped {
			return nil
		}
		shown.set(info.Done+info.Skipped+info.Failed, info.Max)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *app) showBulk(ctx context.Context, cmd *cobra.Command, b operate.Bulk) error {
	info, err := b.Describe(ctx)
	if err != nil {
		return err
	}
	return a.show(cmd, info, func(w *grid) { bulkTable(w, []operate.BulkInfo{info}) })
}

func bulkTable(w *grid, jobs []operate.BulkInfo) {
	row(w, "JOB", "ACT", "PHASE", "DONE", "SKIPPED", "FAILED", "OF", "BY", "CREATED", "PROBLEM")
	for i := range jobs {
		j := &jobs[i]
		row(w, j.ID, j.Act, j.Phase, j.Done, j.Skipped, j.Failed, j.Max, j.Principal, instant(j.CreatedAt), j.Problem)
	}
}

// bulksListed is the output of bulk list.
type bulksListed struct {
	Jobs []operate.BulkInfo `json:"jobs"`
	More bool               `json:"more"` // the limit cut the list
}

func newBulkList(a *app) *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 1000 {
				return badUsage("flag --limit is %d: it must be 1 to 1000", limit)
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				jobs, cursor, err := operate.New(c).Bulks(ctx, client.Page{Size: limit})
				if err != nil {
					return err
				}
				out := bulksListed{Jobs: append([]operate.BulkInfo{}, jobs...), More: cursor != ""}
				return a.showLines(cmd, out, each(out.Jobs), func(w *grid) { bulkTable(w, out.Jobs) })
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of jobs, at most 1000")
	return cmd
}

func newBulkShow(a *app) *cobra.Command {
	follow := false
	cmd := &cobra.Command{
		Use:   "show JOB",
		Short: "Show how far a job has come",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				b, err := operate.New(c).Bulk(ctx, args[0])
				if err == nil && follow {
					err = a.followBulk(ctx, cmd, b)
				}
				if err != nil {
					return err
				}
				return a.showBulk(ctx, cmd, b)
			})
		},
	}
	cmd.Flags().BoolVar(&follow, "wait", false, "wait for the end of the job, and show how far it is")
	return cmd
}

func newBulkStop(a *app) *cobra.Command {
	return newBulkSteer(a, &cobra.Command{
		Use:   "stop JOB",
		Short: "Stop a job until it is resumed",
		Long:  "Stop lets the job end the step that it makes. A stopped job is given up after 30 days.",
	}, "stop", operate.Bulk.Stop)
}

func newBulkResume(a *app) *cobra.Command {
	return newBulkSteer(a, &cobra.Command{Use: "resume JOB", Short: "Let a stopped job go on"}, "resume", operate.Bulk.Resume)
}

// newBulkSteer completes a command that steers a job.
func newBulkSteer(a *app, cmd *cobra.Command, action string, steer func(operate.Bulk, context.Context) error) *cobra.Command {
	cmd.Args = arguments
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			b, err := operate.New(c).Bulk(ctx, args[0])
			if err == nil {
				err = steer(b, ctx)
			}
			if err != nil {
				return err
			}
			return a.show(cmd, steered{ID: args[0], Action: action}, func(w *grid) { fmt.Fprintf(w, "asked %s to %s\n", plain(args[0]), action) })
		})
	}
	return cmd
}

// bulkFailed is the output of bulk failures.
type bulkFailed struct {
	Failures []operate.BulkFailure `json:"failures"`
}

func newBulkFailures(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "failures JOB",
		Short: "List the last 10,000 instances on which a job failed",
		Args:  arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				b, err := operate.New(c).Bulk(ctx, args[0])
				if err != nil {
					return err
				}
				out := bulkFailed{Failures: []operate.BulkFailure{}}
				for f, err := range b.Failures(ctx) {
					if err != nil {
						return err
					}
					out.Failures = append(out.Failures, f)
				}
				return a.showLines(cmd, out, each(out.Failures), func(w *grid) {
					row(w, "INSTANCE", "KEY", "ERROR")
					for i := range out.Failures {
						f := &out.Failures[i]
						row(w, f.ID, f.Key, f.Error)
					}
				})
			})
		},
	}
}
