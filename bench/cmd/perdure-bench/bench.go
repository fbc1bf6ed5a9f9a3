package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider/sqlite"
)

// benchOptions are the flags of bench. Zero keeps the workload's own value.
type benchOptions struct {
	all         bool
	runs        int
	n           int
	seconds     float64
	rate        float64
	finished    int
	starters    int
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

const benchText = `Perdure-bench runs the workloads W1 to W10 one after the other, each on a fresh store:

%s
The store is a SQLite file in a temporary directory. With --db PATH it is a file of that name, which must not exist
and is removed afterwards. With a postgres:// URL it is a schema that the program creates and drops.
A file on a memory disk, or a database that does not sync its commits, is not durable: it needs --allow-unsafe.`

func newBench(a *app) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "perdure-bench [WORKLOAD...]",
		Short: "Measure the performance of perdure on a fresh store",
		Long:  fmt.Sprintf(benchText, benchList()),
		Example: "  perdure-bench w1 w3\n  perdure-bench --all --runs 5 --max-load 0.2 --json figures.json\n" +
			"  perdure-bench w4 --n 5000 --db postgres://user@host/database\n  perdure-bench w3 --rate 400 --n 8000",
		Args: cobra.ArbitraryArgs, // cases checks them
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := o.cases(args)
			if err != nil {
				return err
			}
			return a.bench(cmd, o, cases)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "run all workloads; w7, w8 and w10 take minutes")
	flags.IntVar(&o.runs, "runs", 1, "number of runs of each workload")
	flags.IntVar(&o.n, "n", 0, "number of orchestrations, activities, timers or events (default: as listed)")
	flags.Float64Var(&o.seconds, "seconds", 0, "for w7 and w10: duration of a run; for w5: sleep of the orchestrations (default: the workload's own)")
	flags.Float64Var(&o.rate, "rate", 0, "for w1 and w3: starts per second, at fixed times, whether or not earlier ones have ended; for w5: timers due per second")
	flags.IntVar(&o.finished, "finished", 0, "for w8: finished instances in the store (default 1000000)")
	flags.IntVar(&o.starters, "starters", 0, "for w1, w6, w8 and w9: goroutines that start or send, each one call at a time (default 8)")
	flags.IntSliceVar(&o.workers, "workers", nil, "for w9: numbers of processes (default 1,2,4)")
	flags.StringVar(&o.json, "json", "", "write all figures as JSON to this file; - is standard output, instead of the table")
	flags.BoolVar(&o.keep, "keep", false, "run on the existing store that --db names, and keep it")
	flags.BoolVar(&o.allowUnsafe, "allow-unsafe", false, "allow a store that loses commits when the machine crashes")
	flags.StringVar(&o.synchronous, "synchronous", synchronousFull, "for a SQLite file: full, normal or off")
	flags.Float64Var(&o.maxLoad, "max-load", 0, "before each run, wait until the one-minute load average is below this (default: do not wait)")
	return cmd
}

// benchList returns a table of the workloads and their sizes.
func benchList() string {
	var list strings.Builder
	_ = writeTable(&list, func(w io.Writer) { // a builder never fails
		for _, l := range workload.All() {
			row(w, "  "+l.Name, l.Title, "n = "+strings.Trim(fmt.Sprint(l.Sizes), "[]"))
		}
	})
	return list.String()
}

// cases returns the named workloads, or all of them, at their sizes.
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
			return nil, badUsage("there is no workload %q: see 'perdure-bench --help'", name)
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
	case o.n < 0 || o.seconds < 0 || o.rate < 0 || o.finished < 0 || o.starters < 0 || o.maxLoad < 0 ||
		slices.ContainsFunc(o.workers, func(n int) bool { return n < 1 }):
		return badUsage("flags --n, --seconds, --rate, --finished, --starters, --workers and --max-load must not be negative; --workers must not be zero")
	}
	return nil
}

// casesOf returns a workload at its own sizes, or at those of the flags.
func (o benchOptions) casesOf(w workload.Workload) (cases []benchCase) {
	size := w.Size
	if o.seconds > 0 && size.For > 0 {
		size.For = time.Duration(o.seconds * float64(time.Second))
	}
	if o.finished > 0 && size.Finished > 0 {
		size.Finished = o.finished
	}
	if w.Name == "w1" || w.Name == "w3" || w.Name == "w5" {
		size.Rate = o.rate
	}
	if w.Name == "w1" || w.Name == "w6" || w.Name == "w8" || w.Name == "w9" {
		size.Starters = o.starters
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
		return badUsage("this store can lose acknowledged commits when the machine crashes: %s (%s); "+
			"change the settings, or give --allow-unsafe", unsafe, report.Settings.durability())
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
			// Printed at once, since a later run may fail after hours.
			fmt.Fprintln(b.errs, run.String())
			report.Runs = append(report.Runs, run)
		}
	}
	return a.showBench(cmd, o, report)
}

// showBench writes the table, or JSON, or both.
func (a *app) showBench(cmd *cobra.Command, o benchOptions, report benchReport) error {
	switch {
	case a.output == outputJSONL:
		return writeJSON(cmd.OutOrStdout(), "", report.Runs...)
	case o.json == "-" || a.output == outputJSON:
		return writeJSON(cmd.OutOrStdout(), "  ", report)
	}
	if o.json != "" {
		file, err := os.Create(o.json)
		if err != nil {
			return fmt.Errorf("writing figures: %w", err)
		}
		if err := errors.Join(writeJSON(file, "  ", report), file.Close()); err != nil {
			return err
		}
	}
	return report.write(cmd.OutOrStdout())
}

// awaitQuiet waits until the load average is below the limit; 0 means no limit.
func (b *bench) awaitQuiet(ctx context.Context, limit float64) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for waited := false; limit > 0; waited = true {
		load, ok := measure.Load()
		if !ok {
			return badUsage("flag --max-load: this system reports no load average")
		}
		if load < limit {
			return nil
		}
		if !waited {
			fmt.Fprintf(b.errs, "load average is %.2f, waiting until it is below %.2f\n", load, limit)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// bench is one run of the command.
type bench struct {
	app   *app
	place benchPlace
	errs  io.Writer
}

// benchPlace returns the place that the flags name.
func (a *app) benchPlace(ctx context.Context, o benchOptions) (benchPlace, error) {
	level, ok := map[string]sqlite.Synchronous{synchronousFull: sqlite.Full, synchronousNormal: sqlite.Normal, synchronousOff: sqlite.Off}[o.synchronous]
	if !ok {
		return nil, badUsage("flag --synchronous is %q: it must be full, normal or off", o.synchronous)
	}
	if o.keep && a.db == "" {
		return nil, badUsage("flag --keep needs --db, which names the store to keep")
	}
	f := &benchFile{path: a.db, keep: o.keep, synchronous: level, level: o.synchronous}
	if a.db != "" {
		s, isServer, err := dbname.Parse(a.db)
		if err != nil {
			return nil, &usageError{err}
		}
		if isServer {
			return newBenchServer(ctx, s, o)
		}
		return f, f.mayBegin()
	}
	dir, err := os.MkdirTemp("", "perdure-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for stores: %w", err)
	}
	f.dir, f.path = dir, filepath.Join(dir, "bench.db")
	return f, nil
}
