// Command compare runs the workloads W1 to W6 on perdure and on other engines that a Go service can embed. All run on
// the same machine with the same durability. It prints by how much perdure is faster. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	beChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// compare parses the arguments, runs the plan and prints the report.
func compare(ctx context.Context, args []string, out, progress io.Writer) error {
	p, file, err := parse(args, progress)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	var server []string
	for _, kind := range p.kinds {
		if kind == kindPostgres {
			if server, err = p.stores.serverSettings(ctx); err != nil {
				return fmt.Errorf("asking Postgres: %w", err)
			}
		}
	}
	wait, err := p.stores.diskWait()
	if err != nil {
		return fmt.Errorf("measuring the disk: %w", err)
	}
	r := newReport(p, wait, server)
	r.Runs, err = p.run(ctx, progress)
	r.Summary = summarize(r.Runs)
	if file != "" {
		err = errors.Join(err, r.save(file))
	}
	return errors.Join(err, r.write(out, p))
}

// parse parses the arguments. file is the path for the JSON output.
func parse(args []string, usage io.Writer) (p plan, file string, err error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(usage)
	systems := flags.String("systems", joined(products(), productName), "the systems")
	work := flags.String("workloads", joined(workloads(), workloadName), "the workloads")
	kinds := flags.String("stores", kindSQLite, "the stores: sqlite, postgres or both, separated by a comma")
	flags.StringVar(&p.stores.postgres, "postgres", "", "URL of a Postgres server, as a superuser; each run creates and drops a database")
	flags.StringVar(&p.stores.dir, "dir", os.TempDir(), "directory for SQLite files; it must be on a disk")
	flags.IntVar(&p.rounds, "rounds", 5, "number of runs of each workload on each system")
	flags.Float64Var(&p.scale, "scale", 1, "fraction of the load; less than 1 only checks that everything runs")
	flags.DurationVar(&p.limit, "limit", 2*time.Minute, "timeout of a run; a system that exceeds it has failed the workload and is not tried again")
	flags.StringVar(&file, "json", "", "file for all results")
	if err := flags.Parse(args); err != nil {
		return p, "", err
	}
	if flags.NArg() > 0 {
		return p, "", fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	p.systems, err = chosen(products(), *systems, productName)
	if err != nil {
		return p, "", fmt.Errorf("-systems: %w", err)
	}
	p.workloads, err = chosen(workloads(), *work, workloadName)
	if err != nil {
		return p, "", fmt.Errorf("-workloads: %w", err)
	}
	p.kinds, err = chosen([]string{kindSQLite, kindPostgres}, *kinds, func(kind string) string { return kind })
	switch {
	case err != nil:
		return p, "", fmt.Errorf("-stores: %w", err)
	case strings.Contains(*kinds, kindPostgres) && p.stores.postgres == "":
		return p, "", errors.New("-stores names postgres: give -postgres a URL")
	case p.rounds < 1:
		return p, "", fmt.Errorf("-rounds is %d: give 1 or more", p.rounds)
	case !(p.scale > 0 && p.scale <= 1):
		return p, "", fmt.Errorf("-scale is %v: give more than 0, at most 1", p.scale)
	}
	return p, file, nil
}

func productName(p product) string   { return p.name }
func workloadName(w workload) string { return w.name }

func joined[T any](all []T, name func(T) string) string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	return strings.Join(names, ",")
}

// chosen returns the elements whose names are in a list, in their own order.
func chosen[T any](all []T, list string, name func(T) string) (picked []T, err error) {
	wanted := make(map[string]bool)
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		if _, found := find(all, text, name); !found {
			return nil, fmt.Errorf("%q is none of %s", text, joined(all, name))
		}
		wanted[text] = true
	}
	for _, one := range all {
		if wanted[name(one)] {
			picked = append(picked, one)
		}
	}
	return picked, nil
}
