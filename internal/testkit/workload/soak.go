package workload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// These run at the same time in W10 and start again when they have ended. There are 64 orchestrations of W1 and Size.N
// of W2b, and some timers of W5 and events of W6 for each of the latter. Events are fewer than in W6, since 2,000 of 64
// KiB are too much for one history.
const (
	soakChains = 64
	soakTimers = 20
	soakEvents = 2
	soakNap    = 5 * time.Second
)

// Payloads of W10 alternate between small and large.
const (
	small = 1 << 10
	large = 64 << 10
)

func soakBytes(i int) int {
	if i%2 == 0 {
		return small
	}
	return large
}

// Pruning limits the disk space of W10.
const (
	pruneEvery = time.Second
	pruneAge   = 10 * time.Second
	pruneMax   = 1_000
)

// soak holds the counts of W10 so far.
type soak struct {
	node *Node
	size Size
	end  time.Time

	mu      sync.Mutex
	done    int
	steps   int
	chains  []time.Duration
	late    []time.Duration
	counted map[string]int
}

// runSoak is W10. It repeats W1, W2b, W5 and W6 together, and waits for the last ones to end.
func runSoak(ctx context.Context, n *Node, s Size) (Result, error) {
	began := time.Now()
	k := &soak{node: n, size: s, end: began.Add(s.For), counted: make(map[string]int)}
	group, ctx := errgroup.WithContext(ctx)
	for i := range soakChains {
		group.Go(func() error { return k.again(ctx, func(round int) error { return k.chain(ctx, i+round) }) })
	}
	for _, do := range []func(context.Context, int) error{k.fans, k.timers, k.events} {
		group.Go(func() error { return k.again(ctx, func(round int) error { return do(ctx, round) }) })
	}
	group.Go(func() error { return k.prune(ctx) })
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	r := Result{Done: k.done, Steps: k.steps, Took: time.Since(began), Latencies: k.chains, Figures: []Figure{
		{"p99 of timers' lateness", percentile(k.late, 99).Seconds() * 1e3, "ms"},
	}}
	for _, kind := range []string{"chains", "fans", "timers", "events"} {
		r.Figures = append(r.Figures, Figure{kind, float64(k.counted[kind]), ""})
	}
	return r, nil
}

// again calls fn until the time is over.
func (k *soak) again(ctx context.Context, fn func(round int) error) error {
	for round := 0; ctx.Err() == nil && time.Now().Before(k.end); round++ {
		if err := fn(round); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// add counts ended work.
func (k *soak) add(kind string, orchestrations, steps, counted int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done += orchestrations
	k.steps += steps
	k.counted[kind] += counted
}

func (k *soak) chain(ctx context.Context, i int) error {
	begun := time.Now()
	h, err := client.Start(ctx, k.node.Client, Chain, Load{N: links, Bytes: soakBytes(i)})
	if err != nil {
		return fmt.Errorf("starting an orchestration: %w", err)
	}
	if _, err = finish(ctx, h); err != nil {
		return err
	}
	k.add("chains", 1, links+1, 1)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.chains = append(k.chains, time.Since(begun))
	return nil
}

func (k *soak) fans(ctx context.Context, round int) error {
	count := k.size.N
	err := atOnce(ctx, count, func(ctx context.Context, i int) error {
		return fanOut(ctx, k.node, Load{N: blades, Bytes: soakBytes(round + i)})
	})
	k.add("fans", count, count*(blades+1), count)
	return err
}

func (k *soak) timers(ctx context.Context, round int) error {
	count := soakTimers * k.size.N
	late, err := napTogether(ctx, k.node, count, same(Rest{For: min(soakNap, k.size.For), Text: reply(soakBytes(round)).Text}))
	k.add("timers", count, count*2, count)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.late = append(k.late, late...)
	return err
}

func (k *soak) events(ctx context.Context, round int) error {
	count := soakEvents * k.size.N
	h, err := client.Start(ctx, k.node.Client, Gather, count)
	if err != nil {
		return fmt.Errorf("starting an orchestration: %w", err)
	}
	err = together(ctx, 0, count, func(ctx context.Context, i int) error { return send(ctx, h, reply(soakBytes(round+i))) })
	if err == nil {
		_, err = finish(ctx, h)
	}
	k.add("events", 1, count+1, count)
	return err
}

// prune removes ended instances.
func (k *soak) prune(ctx context.Context) error {
	return k.again(ctx, func(int) error {
		res, err := k.node.Store.Prune(ctx, provider.PruneRequest{Age: pruneAge, Max: pruneMax})
		if err != nil {
			return fmt.Errorf("pruning: %w", err)
		}
		if res.Instances >= pruneMax {
			return nil
		}
		next := time.Now().Add(pruneEvery)
		if k.end.Before(next) {
			next = k.end
		}
		return await(ctx, next, false)
	})
}
