package workload

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
)

const (
	startToOutcome  = "start to outcome"
	momentToOutcome = "intended moment to outcome"
)

// defaultStarters is the number of goroutines that start orchestrations and send events, unless Size.Starters says another.
const defaultStarters = 8

// links is the number of activities of a W1 orchestration.
const links = 5

// together calls fn for 0 to n-1 on the starter goroutines, 0 meaning defaultStarters. Each takes the next number when its call returns.
func together(ctx context.Context, starters, n int, fn func(ctx context.Context, i int) error) error {
	if starters == 0 {
		starters = defaultStarters
	}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range starters {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return ctx.Err()
				}
				if err := fn(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// runChains is W1.
func runChains(ctx context.Context, n *Node, s Size) (Result, error) {
	load := Load{N: links}
	if s.Rate > 0 {
		return runPaced(ctx, n, s.N, rateToPause(s.Rate), load)
	}
	took := make([]time.Duration, s.N)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting, waits := errgroup.WithContext(ctx)
	began := time.Now()
	err := together(waits, s.Starters, s.N, func(starts context.Context, i int) error {
		begun := time.Now()
		h, err := client.Start(starts, n.Client, Chain, load)
		if err != nil {
			return fmt.Errorf("starting an orchestration: %w", err)
		}
		waiting.Go(func() error {
			_, err := finish(waits, h)
			took[i] = time.Since(begun)
			return err
		})
		return nil
	})
	if err != nil {
		cancel()
	}
	if failed := waiting.Wait(); failed != nil && err == nil {
		err = failed
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Done: s.N, Steps: s.N * (links + 1), Took: time.Since(began), Latencies: took}, nil
}

// runLongChain is W4. It takes the times of the results from the history.
func runLongChain(ctx context.Context, n *Node, s Size) (Result, error) {
	began := time.Now()
	h, err := client.Start(ctx, n.Client, Chain, Load{N: s.N})
	if err == nil {
		_, err = finish(ctx, h)
	}
	if err != nil {
		return Result{}, err
	}
	took := time.Since(began)
	gaps, err := resultGaps(ctx, h)
	if err != nil {
		return Result{}, err
	}
	tenth := max(1, len(gaps)/10)
	first, last := percentile(gaps[:min(tenth, len(gaps))], 50), percentile(gaps[max(0, len(gaps)-tenth):], 50)
	return Result{Done: s.N, Steps: s.N + 1, Took: took, Latencies: gaps, Figures: []Figure{
		{"each activity", took.Seconds() * 1e3 / float64(s.N), "ms"},
		{"p50 of the first tenth", first.Seconds() * 1e3, "ms"},
		{"p50 of the last tenth", last.Seconds() * 1e3, "ms"},
	}}, nil
}

// resultGaps returns the times between the stored results of an orchestration's activities.
func resultGaps(ctx context.Context, h client.Handle[int]) (gaps []time.Duration, err error) {
	var last time.Time
	for event, err := range h.History(ctx, 1) {
		if err != nil {
			return nil, fmt.Errorf("reading a history: %w", err)
		}
		if event.Kind != "ActivityCompleted" {
			continue
		}
		if !last.IsZero() {
			gaps = append(gaps, event.Time.Sub(last))
		}
		last = event.Time
	}
	return gaps, nil
}
