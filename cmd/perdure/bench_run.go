package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
)

// totals holds the usage of a process and the counters of its store; nil means unknown.
type totals struct {
	CPU     *float64 `json:"cpu,omitempty"` // seconds
	Peak    *int64   `json:"peak,omitempty"`
	Memory  *int64   `json:"memory,omitempty"`
	Written *int64   `json:"written,omitempty"`
	Commits int64    `json:"commits"`
}

func readTotals(store provider.Provider) (t totals) {
	t.Commits = provider.CountersOf(store).Commits
	if u, ok := measure.Self(); ok {
		t.CPU, t.Peak, t.Memory = new(u.CPU.Seconds()), &u.Peak, &u.Memory
	}
	if written, ok := measure.Written(); ok {
		t.Written = &written
	}
	return t
}

// reading holds all counters read before and after a run.
type reading struct {
	self  totals
	place placeReading
}

func (b *bench) read(ctx context.Context, store provider.Provider) (r reading, err error) {
	if r.place, err = b.place.read(ctx); err != nil {
		return r, err
	}
	r.self = readTotals(store)
	return r, nil
}

// run makes one run on a separate store.
func (b *bench) run(ctx context.Context, c benchCase, number int) (run benchRun, err error) {
	run = newBenchRun(c, number)
	if load, ok := measure.Load(); ok {
		run.Load = &load
	}
	db, err := b.place.begin(ctx)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, b.place.end(context.WithoutCancel(ctx))) }()
	store, err := b.place.open(ctx, db, b.app.logger)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if c.size.Workers > 0 {
		return run, b.withWorkers(ctx, &run, c, db, store)
	}
	node, err := workload.NewNode(ctx, store, b.app.logger)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, node.Close(context.WithoutCancel(ctx))) }()
	return run, b.measured(ctx, &run, c, node)
}

// measured prepares and runs a workload and fills in the figures.
func (b *bench) measured(ctx context.Context, run *benchRun, c benchCase, node *workload.Node) error {
	if c.Prepare != nil {
		began := time.Now()
		fmt.Fprintf(b.errs, "%s: preparing (not measured)\n", run.name())
		if err := c.Prepare(ctx, node, c.size); err != nil {
			return err
		}
		run.Prepared = time.Since(began).Seconds()
	}
	if !measure.ResetPeak() {
		run.Notes = append(run.Notes, "peak memory is measured from the start of the command")
	}
	if c.Pair {
		return b.withPairs(ctx, run, c, node)
	}
	return b.between(ctx, run, c, node)
}

// between runs a workload between two readings.
func (b *bench) between(ctx context.Context, run *benchRun, c benchCase, node *workload.Node) error {
	before, err := b.read(ctx, node.Store)
	if err != nil {
		return err
	}
	result, err := c.Run(ctx, node, c.size)
	if err != nil {
		return err
	}
	after, err := b.read(ctx, node.Store)
	if err != nil {
		return err
	}
	run.fill(c, result, before, after)
	return nil
}

// withPairs runs the workload and as many bare pairs of commits as it has orchestrations. Half of the pairs run before
// it and half after it, so that a change in disk speed affects both.
func (b *bench) withPairs(ctx context.Context, run *benchRun, c benchCase, node *workload.Node) (err error) {
	pair, err := b.place.pair(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.close(context.WithoutCancel(ctx))) }()
	first := (c.size.N + 1) / 2
	if err := pair.measure(ctx, first, c.size.Rate); err != nil {
		return err
	}
	if err := b.between(ctx, run, c, node); err != nil {
		return err
	}
	if err := pair.measure(ctx, c.size.N-first, c.size.Rate); err != nil {
		return err
	}
	pair.fill(run)
	return nil
}

// withWorkers runs a workload with worker processes.
func (b *bench) withWorkers(ctx context.Context, run *benchRun, c benchCase, db database, store provider.Provider) (err error) {
	if f, ok := b.place.(*benchFile); ok && f.level != synchronousFull {
		return badUsage("workers always open a file with synchronous full: leave --synchronous out")
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program to start as a worker: %w", err)
	}
	// The last figures of each process count.
	usage := make([]totals, c.size.Workers)
	workers := make([]*workerProcess, 0, c.size.Workers)
	stop := func() (err error) {
		for _, w := range workers {
			err = errors.Join(err, w.stop())
		}
		workers = nil
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for i := range c.size.Workers {
		o := workerOptions{DB: db.name(), Workload: workloadBench, Lease: 30 * time.Second}
		w, err := startProcess(binary, o, b.errs, func(n notice) {
			if n.Totals != nil {
				usage[i] = *n.Totals
			}
		})
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	for _, w := range workers {
		select {
		case <-w.ready:
		case <-w.exited:
			return w.unexpected("before it was ready")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	starter, err := workload.NewClient(store, b.app.logger)
	if err != nil {
		return err
	}
	if err := b.measured(ctx, run, c, starter); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	run.addWorkers(usage)
	return nil
}
