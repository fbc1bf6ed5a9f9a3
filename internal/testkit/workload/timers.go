package workload

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// atOnce calls fn for 0 to n-1, each on a separate goroutine.
func atOnce(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error { return fn(ctx, i) })
	}
	return group.Wait()
}

// runTimers is W5.
func runTimers(ctx context.Context, n *Node, s Size) (Result, error) {
	began := time.Now()
	late, err := napTogether(ctx, n, s.N, rests(s))
	if err != nil {
		return Result{}, err
	}
	return Result{Done: s.N, Steps: s.N * 2, Took: time.Since(began), Latencies: late}, nil
}

// rests returns what each orchestration of W5 sleeps. With a rate the timers are due at that rate, however fast the starts are.
func rests(s Size) func(i int) Rest {
	if s.Rate == 0 {
		return same(Rest{For: s.For})
	}
	first, pause := time.Now().Add(s.For), rateToPause(s.Rate)
	return func(i int) Rest { return Rest{Until: first.Add(time.Duration(i) * pause)} }
}

func same(rest Rest) func(int) Rest { return func(int) Rest { return rest } }

// napTogether starts naps and returns how late each was.
func napTogether(ctx context.Context, n *Node, count int, rest func(i int) Rest) ([]time.Duration, error) {
	handles, err := startNaps(ctx, n, count, rest)
	if err != nil {
		return nil, err
	}
	late := make([]time.Duration, count)
	err = atOnce(ctx, count, func(ctx context.Context, i int) (err error) {
		late[i], err = finish(ctx, handles[i])
		return err
	})
	return late, err
}

func startNaps(ctx context.Context, n *Node, count int, rest func(i int) Rest) ([]client.Handle[time.Duration], error) {
	handles := make([]client.Handle[time.Duration], count)
	err := together(ctx, 0, count, func(ctx context.Context, i int) (err error) {
		if handles[i], err = client.Start(ctx, n.Client, Nap, rest(i)); err != nil {
			return fmt.Errorf("starting an orchestration: %w", err)
		}
		return nil
	})
	return handles, err
}

// putToSleep prepares W7.
func putToSleep(ctx context.Context, n *Node, s Size) error {
	if _, err := startNaps(ctx, n, s.N, same(Rest{For: 24 * time.Hour})); err != nil {
		return err
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for quiet := 0; ; quiet++ { // executions that have just left the cache end on separate goroutines
		stats, err := n.Store.Stats(ctx, provider.StatsRequest{})
		if err != nil {
			return fmt.Errorf("checking that all instances sleep: %w", err)
		}
		cached := n.runtime.Stats().Cached > 0 && s.For >= time.Minute // executions leave the cache after that time; shorter runs measure no memory
		if len(stats.Turns) > 0 || stats.TurnLeases > 0 || cached {
			quiet = 0
		}
		if quiet == 10 {
			// Free the garbage of the starts and the memory that the node keeps for instances that act soon.
			// Neither is part of the cost of sleeping instances.
			debug.FreeOSMemory()
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// runNothing is W7. It measures the cost of sleeping instances.
func runNothing(ctx context.Context, _ *Node, s Size) (Result, error) {
	began := time.Now()
	timer := time.NewTimer(s.For)
	defer timer.Stop()
	select {
	case <-timer.C:
		return Result{Done: s.N, Took: time.Since(began)}, nil
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}
