package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/bench/workload"
)

// benchOptions are the flags of bench. Zero leaves what a workload has.
type benchOptions struct {
	all         bool
	runs        int
	n           int
	seconds     float64
	rate        float64
	finished    int
	workers     []int
	json        string
	keep        bool
	allowUnsafe bool
	synchronous string
	maxLoad     float64
}

// benchCase is a workload at one size.
type benchCase struct {
	workload.Workload
	size workload.Size
}

const benchText = `Bench measures perdure with the workloads W1 to W10, one after the other, each on a fresh store:

%s
The store is a SQLite file in a temporary directory; with --db PATH one of that name, which must not exist and is removed; with the
URL of a Postgres a schema that is made and dropped. The environment's database is not touched. Figures of a file on
a memory disk, or of a database that does not push its commits to the disk, are not those of a durable store: they need --allow-unsafe.`

func newBench(a *app) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [WORKLOAD...]",
		Short: "Measure perdure on a fresh store",
		Long:  fmt.Sprintf(benchText, benchList()),
		Example: "  perdure bench w1 w3\n  perdure bench --all --runs 5 --max-load 0.2 --json figures.json\n" +
			"  perdure bench w4 --n 5000 --db postgres://user@host/database\n  perdure bench w3 --rate 400 --n 8000",
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := o.cases(args)
			if err != nil {
				return err
			}
			return a.bench(cmd, o, cases)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "all workloads; w7, w8 and w10 take minutes")
	flags.IntVar(&o.runs, "runs", 1, "how often each is run")
	flags.IntVar(&o.n, "n", 0, "how many orchestrations, activities, timers or events (default: the workload's own)")
	flags.Float64Var(&o.seconds, "seconds", 0, "how long w7 and w10 last, and the orchestrations of w5 sleep (default: the workload's own)")
	flags.Float64Var(&o.rate, "rate", 0, "for w1 and w3: so many starts each second, each at its moment whether others have ended or not")
	flags.IntVar(&o.finished, "finished", 0, "for w8: finished instances in the store (default 1000000)")
	flags.IntSliceVar(&o.workers, "workers", nil, "for w9: processes (default 1,2,4)")
	flags.StringVar(&o.json, "json", "", "write all figures as JSON to this file, or - for standard output in place of the table")
	flags.BoolVar(&o.keep, "keep", false, "run on the store that --db names as it is, and leave it")
	flags.BoolVar(&o.allowUnsafe, "allow-unsafe", false, "measure a store that loses commits when the machine dies")
	flags.StringVar(&o.synchronous, "synchronous", synchronousFull, "for a SQLite file: full, normal or off")
	flags.Float64Var(&o.maxLoad, "max-load", 0, "before each run wait until the machine's load of the last minute is below (default: do not wait)")
	return cmd
}

// benchList shows the workloads and their sizes.
func benchList() string {
	var list strings.Builder
	_ = writeTable(&list, func(w *tabwriter.Writer) { // a builder takes everything
		for _, l := range workload.All() {
			row(w, "  "+l.Name, l.Title, "n = "+strings.Trim(fmt.Sprint(l.Sizes), "[]"))
		}
	})
	return list.String()
}

// cases are what was asked for.
func (o benchOptions) cases(names []string) (cases []benchCase, err error) {
	if err := o.check(names); err != nil {
		return nil, err
	}
	if o.all {
		for _, w := range workload.All() {
			names = append(names, w.Name)
		}
	}
	for _, name := range names {
		found := workload.Find(strings.ToLower(name))
		if len(found) == 0 {
			return nil, badUsage("there is no workload %q: see 'perdure help bench'", name)
		}
		for _, w := range found {
			cases = append(cases, o.casesOf(w)...)
		}
	}
	return cases, nil
}

func (o benchOptions) check(names []string) error {
	switch {
	case o.all && len(names) > 0:
		return badUsage("name workloads or give --all, not both")
	case !o.all && len(names) == 0:
		return badUsage("no workload is named: give some of w1 to w10, or --all")
	case o.runs < 1:
		return badUsage("flag --runs is %d: it must be 1 or more", o.runs)
	case o.n < 0 || o.seconds < 0 || o.rate < 0 || o.finished < 0 || o.maxLoad < 0 || slices.ContainsFunc(o.workers, func(n int) bool { return n < 1 }):
		return badUsage("flags --n, --seconds, --rate, --finished, --workers and --max-load must not be negative, and --workers not zero")
	}
	return nil
}

// casesOf answers a workload at its own sizes, or at those of the flags.
func (o benchOptions) casesOf(w workload.Workload) (cases []benchCase) {
	size := w.Size
	if o.seconds > 0 && size.For > 0 {
		size.For = time.Duration(o.seconds * float64(time.Second))
	}
	if o.finished > 0 && size.Finished > 0 {
		size.Finished = o.finished
	}
	if w.Name == "w1" || w.Name == "w3" {
		size.Rate = o.rate
	}
	sizes, workers := w.Sizes, w.Workers
	if o.n > 0 {
		sizes = []int{o.n}
	}
	switch {
	case workers == nil:
		workers = []int{0}
	case len(o.workers) > 0:
		workers = o.workers
	}
	for _, size.N = range sizes {
		for _, size.Workers = range workers {
			cases = append(cases, benchCase{w, size})
		}
	}
	return cases
}

// bench runs all cases and shows the figures.
func (a *app) bench(cmd *cobra.Command, o benchOptions, cases []benchCase) (err error) {
	ctx := cmd.Context()
	place, err := a.benchPlace(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.close(context.WithoutCancel(ctx))) }()
	settings, err := place.settings(ctx)
	if err != nil {
		return err
	}
	report := benchReport{Settings: newBenchSettings(settings)}
	if unsafe := report.Settings.unsafe(); unsafe != "" && !o.allowUnsafe {
		return badUsage("this store can lose what it has told when the machine dies, and is fast for that reason: %s (%s); "+
			"mend the settings, or give --allow-unsafe", unsafe, report.Settings.durability())
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", report.Settings.Store, report.Settings.durability())
	b := &bench{app: a, place: place, errs: cmd.ErrOrStderr()}
	for _, c := range cases {
		for number := 1; number <= o.runs; number++ {
			if err := b.awaitQuiet(ctx, o.maxLoad); err != nil {
				return err
			}
			run, err := b.run(ctx, c, number)
			if err != nil {
				return fmt.Errorf("%s, run %d: %w", c.Name, number, err)
			}
			// Told at once: a later run may fail after hours.
			fmt.Fprintln(b.errs, run.String())
			report.Runs = append(report.Runs, run)
		}
	}
	return a.showBench(cmd, o, report)
}

// showBench writes the table, or JSON, or both.
func (a *app) showBench(cmd *cobra.Command, o benchOptions, report benchReport) error {
	if o.json == "-" || a.output == outputJSON {
		return writeJSON(cmd.OutOrStdout(), report)
	}
	if o.json != "" {
		file, err := os.Create(o.json)
		if err != nil {
			return fmt.Errorf("writing figures: %w", err)
		}
		if err := errors.Join(writeJSON(file, report), file.Close()); err != nil {
			return err
		}
	}
	return report.write(cmd.OutOrStdout())
}

// awaitQuiet waits until the load is below the limit; 0 is no limit.
func (b *bench) awaitQuiet(ctx context.Context, limit float64) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for told := false; limit > 0; told = true {
		load, ok := measure.Load()
		if !ok {
			return badUsage("flag --max-load: this system does not tell its load")
		}
		if load < limit {
			return nil
		}
		if !told {
			fmt.Fprintf(b.errs, "waiting until the load of %.2f is below %.2f\n", load, limit)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// bench is the command at work.
type bench struct {
	app   *app
	place benchPlace
	errs  io.Writer
}
