package workload

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
)

// idlePause is the pause between two starts of W3.
const idlePause = 5 * time.Millisecond

// runIdle is W3.
func runIdle(ctx context.Context, n *Node, s Size) (Result, error) {
	pause := idlePause
	if s.Rate > 0 {
		pause = rateToPause(s.Rate)
	}
	return runPaced(ctx, n, s.N, pause, Load{N: 1})
}

// AtMoments calls do at each of n moments and returns how long after its moment each call ended. Calls may overlap.
// Rate is in calls per second; zero is the pause of W3.
func AtMoments(ctx context.Context, n int, rate float64, do func(ctx context.Context) error) ([]time.Duration, error) {
	pause := idlePause
	if rate > 0 {
		pause = rateToPause(rate)
	}
	took, _, err := paced(ctx, n, pause, do)
	return took, err
}

func rateToPause(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

// runPaced starts a chain at each of n moments.
func runPaced(ctx context.Context, n *Node, count int, pause time.Duration, load Load) (Result, error) {
	began := time.Now()
	took, late, err := paced(ctx, count, pause, func(ctx context.Context) error {
		h, err := client.Start(ctx, n.Client, Chain, load)
		if err != nil {
			return fmt.Errorf("starting an orchestration: %w", err)
		}
		_, err = finish(ctx, h)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Done: count, Steps: count * (load.N + 1), Took: time.Since(began), Latencies: took, Figures: []Figure{
		{"p99 from moment to start", percentile(late, 99).Seconds() * 1e3, "ms"},
	}}, nil
}

// paced calls do at each of n moments, whether or not earlier calls have ended. It returns how long after its
// moment each call ended, and how long after it each began.
func paced(ctx context.Context, n int, pause time.Duration, do func(context.Context) error) (took, late []time.Duration, err error) {
	took, late = make([]time.Duration, n), make([]time.Duration, n)
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		moment := began.Add(time.Duration(i+1) * pause)
		if err := await(ctx, moment, pause >= idlePause); err != nil {
			group.Go(func() error { return err })
			break
		}
		group.Go(func() error {
			late[i] = time.Since(moment)
			err := do(ctx)
			took[i] = time.Since(moment)
			return err
		})
	}
	return took, late, group.Wait()
}

// timerLag is the maximum delay of a timer in an idle process: the Go runtime waits in whole milliseconds.
const timerLag = 1200 * time.Microsecond

// await waits for a moment. A late timer would count as latency of the measured system. So with exactly, the last
// stretch is spent polling the clock. Under load, when moments are close together, polling would take processor
// time from the measured system, and timers are punctual.
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
