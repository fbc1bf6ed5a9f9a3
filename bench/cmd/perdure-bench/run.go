package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
)

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
	store, err := b.place.open(ctx, b.app.logger)
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
func (b *bench) withWorkers(ctx context.Context, run *benchRun, c benchCase, db string, store provider.Provider) (err error) {
	if f, ok := b.place.(*benchFile); ok && f.level != synchronousFull {
		return badUsage("workers always open a file with synchronous full: leave --synchronous out")
	}
	workers := make([]*worker, 0, c.size.Workers)
	usage := make([]totals, 0, c.size.Workers)
	stop := func() (err error) {
		for _, w := range workers {
			err = errors.Join(err, w.stop())
			usage = append(usage, w.used)
		}
		workers = nil
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	for range c.size.Workers {
		w, err := startWorker(db, b.errs)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	for _, w := range workers {
		if err := w.await(ctx); err != nil {
			return err
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
