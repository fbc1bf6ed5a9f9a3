package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// clients is the number of goroutines that start orchestrations and send events, for every system.
const clients = 8

// workload is one of W1 to W6. Its size is a count or a duration and differs between systems, so that a run takes 5
// to 20 s for each; see sizes.
type workload struct {
	name  string
	about string
	run   func(ctx context.Context, sys system, l load) ([]figure, error)
}

// figure is one measured value.
type figure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	IsRate bool    `json:"is_rate"` // more is better; otherwise less is
}

// load is the size of a run.
type load struct {
	Size  int     `json:"size"`
	Scale float64 `json:"scale"` // 1 is the workload as defined; less only checks that it runs
}

// size returns the scaled size. of scales another number of the workload.
func (l load) size() int { return l.of(l.Size) }

func (l load) of(n int) int { return max(1, int(float64(n)*l.Scale)) }

func workloads() []workload {
	return []workload{
		{"W1", "orchestrations of 5 sequential activities, started by 8 clients", w1},
		{"W2a", "one orchestration of 1,000 parallel activities, a median", w2a},
		{"W2b", "100 orchestrations of 50 parallel activities, a median", w2b},
		{"W3", "idle: start, one activity, outcome; 200 times, 5 ms apart; by the documented call of each", w3},
		{"W3 asked", "the same; systems without notification are polled more often than by their own calls", w3Asked},
		{"W4", "one orchestration of sequential activities", w4},
		{"W5", "2,000 timers of 5 s, lateness; not judged, since each system starts them at its own pace", w5},
		{"W5 paced", "the same, started one by one at 400/s, so that as many are due in each moment for all systems; W5 is judged by this", w5Paced},
		{"W6", "2,000 events to one orchestration from 8 clients, a median", w6},
	}
}

// each calls fn for 0 to n-1, distributed among the clients.
func each(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for c := range min(clients, n) {
		g.Go(func() error {
			for i := c; i < n; i += clients {
				if err := fn(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// runAll starts n orchestrations as fast as the clients can, then waits for all. Each client waits for one instance
// after another, so that a system that needs polling is not polled for thousands at once.
func runAll(ctx context.Context, sys system, n int, p program, in int) error {
	started := make([]instance, n)
	err := each(ctx, n, func(ctx context.Context, i int) (err error) {
		started[i], err = sys.Start(ctx, p, in)
		return err
	})
	if err != nil {
		return err
	}
	return each(ctx, n, func(ctx context.Context, i int) error { return started[i].Wait(ctx) })
}

func runOne(ctx context.Context, sys system, p program, in int) error {
	h, err := sys.Start(ctx, p, in)
	if err != nil {
		return err
	}
	return h.Wait(ctx)
}

// timed returns the seconds that each of n calls took.
func timed(n int, fn func() error) (seconds []float64, err error) {
	for range n {
		began := time.Now()
		if err := fn(); err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(began).Seconds())
	}
	return seconds, nil
}

// quantile returns the value below which a share of the values lies.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

func w1(ctx context.Context, sys system, l load) ([]figure, error) {
	seconds, err := timed(1, func() error { return runAll(ctx, sys, l.size(), chain, 5) })
	if err != nil {
		return nil, err
	}
	return []figure{{Name: "orchestrations/s", Value: float64(l.size()) / seconds[0], IsRate: true}}, nil
}

func w2a(ctx context.Context, sys system, l load) ([]figure, error) {
	seconds, err := timed(l.size(), func() error { return runOne(ctx, sys, fan, l.of(1_000)) })
	if err != nil {
		return nil, err
	}
	return []figure{{Name: "s", Value: quantile(seconds, 0.5)}}, nil
}

func w2b(ctx context.Context, sys system, l load) ([]figure, error) {
	seconds, err := timed(l.size(), func() error { return runAll(ctx, sys, l.of(100), fan, l.of(50)) })
	if err != nil {
		return nil, err
	}
	return []figure{{Name: "s", Value: quantile(seconds, 0.5)}}, nil
}

func w3(ctx context.Context, sys system, l load) ([]figure, error) {
	return idle(l, func() error {
		h, err := sys.Start(ctx, chain, 1)
		if err != nil {
			return err
		}
		return h.WaitAsDocumented(ctx)
	})
}

func w3Asked(ctx context.Context, sys system, l load) ([]figure, error) {
	return idle(l, func() error { return runOne(ctx, sys, chain, 1) })
}

func idle(l load, fn func() error) ([]figure, error) {
	var ms []float64
	for range l.size() {
		time.Sleep(5 * time.Millisecond)
		seconds, err := timed(1, fn)
		if err != nil {
			return nil, err
		}
		ms = append(ms, seconds[0]*1e3)
	}
	return []figure{{Name: "p50 ms", Value: quantile(ms, 0.5)}, {Name: "p99 ms", Value: quantile(ms, 0.99)}}, nil
}

func w4(ctx context.Context, sys system, l load) ([]figure, error) {
	seconds, err := timed(1, func() error { return runOne(ctx, sys, chain, l.size()) })
	if err != nil {
		return nil, err
	}
	return []figure{{Name: "ms/activity", Value: seconds[0] * 1e3 / float64(l.size())}}, nil
}

func w5(ctx context.Context, sys system, l load) ([]figure, error) {
	return nap(ctx, sys, l, func() {})
}

// w5Paced starts at the same pace on every system, since the distance between timers follows that between starts.
func w5Paced(ctx context.Context, sys system, l load) ([]figure, error) {
	next := time.NewTicker(time.Second / 400)
	defer next.Stop()
	return nap(ctx, sys, l, func() { <-next.C })
}

// nap starts orchestrations that sleep, each when wait returns, and returns how late they continued.
func nap(ctx context.Context, sys system, l load, wait func()) ([]figure, error) {
	pause := max(200*time.Millisecond, time.Duration(l.Scale*float64(5*time.Second)))
	started := make([]instance, l.size())
	err := each(ctx, len(started), func(ctx context.Context, i int) (err error) {
		wait()
		started[i], err = sys.Start(ctx, sleep, int(pause.Milliseconds()))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := each(ctx, len(started), func(ctx context.Context, i int) error { return started[i].Wait(ctx) }); err != nil {
		return nil, err
	}
	late := wakes.late()
	if len(late) < l.size() {
		return nil, fmt.Errorf("%d of %d timers fired", len(late), l.size())
	}
	return []figure{{Name: "p50 ms late", Value: quantile(late, 0.5)}, {Name: "p99 ms late", Value: quantile(late, 0.99)}}, nil
}

func w6(ctx context.Context, sys system, l load) ([]figure, error) {
	events := l.of(2_000)
	var rates []float64
	for range l.size() {
		h, err := sys.Start(ctx, listen, events)
		if err != nil {
			return nil, err
		}
		seconds, err := timed(1, func() error {
			if err := each(ctx, events, func(ctx context.Context, _ int) error { return h.Send(ctx, reply()) }); err != nil {
				return err
			}
			return h.Wait(ctx)
		})
		if err != nil {
			return nil, err
		}
		rates = append(rates, float64(events)/seconds[0])
	}
	return []figure{{Name: "events/s", Value: quantile(rates, 0.5), IsRate: true}}, nil
}

// wakes records how late the timers of this process fired. Orchestration code adds to it, which normal code must
// never do.
var wakes lateness

type lateness struct {
	mu sync.Mutex
	ms []float64
}

func (l *lateness) add(due time.Time) {
	ms := max(0, time.Since(due).Seconds()*1e3)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ms = append(l.ms, ms)
}

func (l *lateness) late() []float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.ms)
}
