package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/bulk"
	"github.com/perdure/perdure/internal/shell"
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
	to := ""
	cmd := &cobra.Command{
		Use:   "preview [SEARCH]",
		Short: "Count what a job would act on, and show some of it",
		Long:  "Preview counts what a job would act on, and shows some of it.\n" + bulkSearchHelp,
		Args:  arguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(filter.check(cmd), checkBulkSearch(args)); err != nil {
				return err
			}
			kind, err := pointKind(to)
			if err != nil {
				return err
			}
			return a.withReader(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				f, err := filter.bulk(ctx, cmd, a, c, args)
				if err != nil {
					return err
				}
				p, err := previewBulk(ctx, operate.New(c), f, kind)
				if err != nil {
					return err
				}
				return a.show(cmd, p, func(w *grid) {
					fmt.Fprintln(w, matching(p.Counted))
					listTable(w, p.Sample)
					bulkTexts(w, &p)
					if p.Points != nil {
						fmt.Fprintln(w, bulkPoints(p.Points))
					}
				})
			})
		},
	}
	filter.add(cmd)
	cmd.Flags().StringVar(&to, "to", "",
		"reset, fork: count those without this point: first-failure, last-failure, patch=ID, event=N or time=2026-01-02T03:04:05Z")
	return cmd
}

// previewBulk previews a job, with the kind of point that it looks for, if any.
func previewBulk(ctx context.Context, o *operate.Operator, f client.Filter, to *client.PointKind) (operate.BulkPreview, error) {
	if to == nil {
		return o.PreviewBulk(ctx, f)
	}
	return o.PreviewBulkTo(ctx, f, *to)
}

// bulkPoints says how many instances have no point.
func bulkPoints(p *operate.BulkPoints) string {
	count := fmt.Sprintf("%d of %d", p.Without, p.Looked)
	if !p.Exact {
		count = fmt.Sprintf("at least %d, of the newest %d", p.Without, p.Looked)
	}
	text := fmt.Sprintf("without a point %s, so that the job skips them: %s", p.To, count)
	if p.Unread > 0 {
		text += fmt.Sprintf("; %d cannot be read here, and fail", p.Unread)
	}
	return text
}

// bulkSearchHelp describes the argument of bulk commands that search.
const bulkSearchHelp = "SEARCH is one branch of what list takes, such as 'status:failed name:checkout @region:eu started:<1h'. The flags must hold, too.\n" +
	"Relative times become absolute when the command begins."

// checkBulkSearch refuses a text that is no search of one branch, before a database is opened.
func checkBulkSearch(args []string) error {
	_, err := bulkGroup("", args)
	return err
}

// bulkGroup returns the group of failures that a flag or else a search names.
func bulkGroup(flag string, args []string) (string, error) {
	if len(args) == 0 {
		return flag, nil
	}
	s, err := client.ParseSearch(args[0], time.Now()) // bulk parses it once more, at the time of the storage
	if err != nil {
		return "", searchMistake(err)
	}
	f, err := branchOf(&s)
	return cmp.Or(flag, f.FailureGroup), err
}

// branchOf returns the filter of a search, which must have one branch.
func branchOf(s *client.Search) (client.Filter, error) {
	f, single := s.Filter()
	if !single {
		return f, badUsage("SEARCH has an OR, which no bulk job takes: start a job for each branch")
	}
	return f, nil
}

// bulk returns what the flags and the search of a bulk command select.
func (f *filterFlags) bulk(ctx context.Context, cmd *cobra.Command, a *app, c *client.Client, args []string) (client.Filter, error) {
	s, err := f.selects(ctx, cmd, a, c, args, "")
	if err != nil || s.search == nil {
		return s.filter, err
	}
	return branchOf(s.search)
}

// bulkTexts shows the texts of a group, in the form that --text takes.
func bulkTexts(w *grid, p *operate.BulkPreview) {
	for _, t := range p.Texts {
		text := bulk.QuoteText(t.Text)
		if t.Cut {
			text += "... (longer than 256 bytes: --text cannot name it)"
		}
		fmt.Fprintf(w, "%d of the newest: %s\n", t.Count, text)
	}
	if p.OtherTexts {
		fmt.Fprintln(w, "there may be other texts")
	}
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
	payload, text, to := "", "", ""
	wait := false
	cmd := &cobra.Command{
		Use:   "start ACT [SEARCH]",
		Short: "Start a job",
		Long: "Start previews the job, asks, and starts it. ACT is cancel, terminate, suspend, resume, unblock, raise, restart, reset,\n" +
			"fork, move, delete, redrive or retry-now. The job acts on no more instances than the preview counted, or than --max.\n" +
			"Retry-now begins the next attempt of activities that wait for it, at most --rate a second.\n" + bulkSearchHelp,
		Example: "  perdure bulk start cancel --name Checkout --created-before 24h --reason 'old version' --yes --db orders.db\n" +
			"  perdure bulk start restart 'status:failed name:Checkout ended:<2h' --rate 10 --db orders.db\n" +
			"  perdure bulk start retry-now name:Checkout --rate 20 --db orders.db",
		Args: arguments,
	}
	filter.add(cmd)
	yes := yesFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&job.ID, "job", "", "ID of the job; default a random one")
	flags.Int64Var(&job.Max, "max", 0, "most instances to act on; default: as many as match now")
	flags.Float64Var(&job.Rate, "rate", 0, "instances a second, activities a second of retry-now, which needs it; 0 is no limit")
	flags.StringVar(&text, "text", "", "with --failure-group: only instances whose error has this text, in quotes as bulk preview shows it, or as it is")
	flags.BoolVar(&job.AllTexts, "all-texts", false, "with --failure-group: instances with any text of the group")
	flags.StringVar(&job.Reason, "reason", "", "cancel, terminate, restart, reset, fork: reason for people to read")
	flags.StringVar(&job.Event, "event", "", "raise: name of the event")
	flags.StringVar(&payload, "payload", "null", "raise: payload as JSON, @file, or - for standard input")
	flags.StringVar(&to, "to", "",
		"move: version of the code; reset, fork: find the event of each: first-failure, last-failure, patch=ID, event=N or time=2026-01-02T03:04:05Z")
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
		if err := bulkText(cmd, &job, filter.filter.FailureGroup, text, args[1:]); err != nil {
			return err
		}
		if err := bulkTo(cmd, &job, to); err != nil {
			return err
		}
		value, err := readJSON(cmd, "payload", payload)
		if err != nil {
			return err
		}
		job.Payload = value
		return a.withClient(cmd.Context(), func(ctx context.Context, c *client.Client) error {
			if job.Filter, err = filter.bulk(ctx, cmd, a, c, args[1:]); err != nil {
				return err
			}
			job.Filter.Retrying = job.Filter.Retrying || job.Act == client.ActRetryNow
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

// bulkTo reads --to, which is a version or a kind of point.
func bulkTo(cmd *cobra.Command, job *operate.BulkJob, to string) error {
	if job.Act != client.ActReset && job.Act != client.ActFork {
		job.Version = to
		return nil
	}
	kind, err := pointKind(to)
	if err != nil || kind == nil {
		return err
	}
	if cmd.Flags().Changed("at") {
		return badUsage("flags --at and --to: give one of them")
	}
	job.To = *kind
	return nil
}

// bulkText reads the choice of texts of a job. It is made for a group of failures, and only for one.
func bulkText(cmd *cobra.Command, job *operate.BulkJob, group, text string, search []string) (err error) {
	if err := notEmpty(cmd, "text", len(text)); err != nil {
		return err
	}
	if job.Text, err = bulk.ParseText(text); err != nil {
		return badUsage("flag --text: %v", err)
	}
	if group, err = bulkGroup(group, search); err != nil {
		return err
	}
	switch {
	case group == "" && (job.Text != "" || job.AllTexts):
		return badUsage("flags --text and --all-texts are for a group of failures: give --failure-group, which perdure failures shows")
	case group != "" && (job.Text != "") == job.AllTexts:
		return badUsage("flag --failure-group: a group may have several texts, which bulk preview shows: give --text or --all-texts")
	}
	return nil
}

// errNoMatch is the error of starting a job that would act on nothing.
var errNoMatch = errors.New("no instance matches")

// bulkNone is the output of bulk start if no instance matches.
type bulkNone struct {
	Started bool `json:"started"` // always false
}

// startBulk previews the job and starts it if the user wants it.
func (a *app) startBulk(ctx context.Context, cmd *cobra.Command, c *client.Client, job *operate.BulkJob, yes bool) (operate.Bulk, error) {
	o := operate.New(c)
	if err := o.CheckBulk(ctx, *job); err != nil { // before anybody is asked
		return operate.Bulk{}, err
	}
	var to *client.PointKind
	if job.To.String() != "" {
		to = &job.To
	}
	p, err := previewBulk(ctx, o, job.Filter, to)
	if err != nil {
		return operate.Bulk{}, err
	}
	if job.Text != "" {
		p = p.Only(job.Text)
	}
	if p.Exact && p.Count == 0 {
		return operate.Bulk{}, errNoMatch
	}
	for _, queue := range p.Queues {
		if job.Act == client.ActRetryNow {
			fmt.Fprintf(cmd.ErrOrStderr(), "to keep attempts from beginning until all is ready, first: perdure queue pause %s\n", shell.Word(queue))
		}
	}
	job.Before = p.At
	if job.Max == 0 {
		if job.Max = p.Most; p.Most == 0 {
			return operate.Bulk{}, badUsage("%s or more match: give --max, or a filter that fewer match", amount.Of(p.Count, "instance"))
		}
	}
	if err := a.confirm(cmd, yes, bulkWhat(job, &p)); err != nil { //nolint:contextcheck // it takes that of cmd, which is ctx
		return operate.Bulk{}, err
	}
	return o.StartBulk(ctx, *job)
}

// bulkWhat says what a job does to how many instances.
func bulkWhat(job *operate.BulkJob, p *operate.BulkPreview) string {
	what, n := amount.Of(job.Max, "instance"), matching(p.Counted)
	if p.Points != nil {
		n += "; " + bulkPoints(p.Points)
	}
	switch {
	case p.Points != nil && job.Max == p.Count && p.Exact:
		return fmt.Sprintf("%s at most %s (%s)", job.Act, what, n)
	case job.Max > p.Count, job.Max == p.Count && !p.Exact:
		return fmt.Sprintf("%s at most %s (%s)", job.Act, what, n)
	case job.Max < p.Count:
		return fmt.Sprintf("%s %s of those that match (%s)", job.Act, what, n)
	}
	return fmt.Sprintf("%s %s", job.Act, what)
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
