package workload

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
)

// idlePause is between two starts of W3.
const idlePause = 5 * time.Millisecond

// runIdle is W3.
func runIdle(ctx context.Context, n *Node, s Size) (Result, error) {
	pause := idlePause
	if s.Rate > 0 {
		pause = rateToPause(s.Rate)
	}
	return runPaced(ctx, n, s.N, pause, Load{N: 1})
}

func rateToPause(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

// runPaced starts a chain at each of n moments, whether those before have ended or not.
func runPaced(ctx context.Context, n *Node, count int, pause time.Duration, load Load) (Result, error) {
	took, late := make([]time.Duration, count), make([]time.Duration, count)
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i := range count {
		intended := began.Add(time.Duration(i+1) * pause)
		if await(ctx, intended, pause >= idlePause) != nil {
			break
		}
		group.Go(func() error {
			late[i] = time.Since(intended)
			h, err := client.Start(ctx, n.Client, Chain, load)
			if err != nil {
				return fmt.Errorf("starting an orchestration: %w", err)
			}
			_, err = finish(ctx, h)
			took[i] = time.Since(intended)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil && took[count-1] == 0 {
		return Result{}, context.Cause(ctx)
	}
	return Result{Done: count, Steps: count * (load.N + 1), Took: time.Since(began), Latencies: took, Figures: []Figure{
		{"p99 from moment to start", percentile(late, 99).Seconds() * 1e3, "ms"},
	}}, nil
}

// timerLag is how late a timer may be in a process that does nothing else: the Go runtime waits in whole milliseconds.
const timerLag = 1200 * time.Microsecond

// await waits for a moment. That a timer is late would count as latency of what is measured; so, where there is time for it, the
// last stretch is spent looking at the clock. Under load, when moments are close, that would take the processor from
// what is measured, and timers are on time.
func await(ctx context.Context, moment time.Time, exactly bool) error {
	rest := time.Until(moment)
	if exactly {
		rest -= timerLag
	}
	if rest > 0 {
		timer := time.NewTimer(rest)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil && time.Until(moment) > 0 {
		runtime.Gosched()
	}
	return ctx.Err()
}
