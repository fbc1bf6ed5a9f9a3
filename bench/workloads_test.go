package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Reply is what the no-op activity answers: about 50 bytes of JSON.
type Reply struct{ Text string }

// Noop is an activity that does nothing.
func Noop(context.Context, int) (Reply, error) {
	return Reply{Text: "forty characters make fifty bytes of JSON"}, nil
}

// Chain calls n activities in sequence.
func Chain(ctx *orchestration.Context, n int) (int, error) {
	for i := range n {
		if _, err := orchestration.CallActivity(ctx, Noop, i); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Fan calls n activities at once and joins them.
func Fan(ctx *orchestration.Context, n int) (int, error) {
	futures := make([]orchestration.Future[Reply], n)
	for i := range futures {
		futures[i] = orchestration.StartActivity(ctx, Noop, i)
	}
	_, err := orchestration.All(ctx, futures...)
	return n, err
}

// node is one process with a fresh store: runtime and client.
type node struct {
	store  *sqlite.Provider
	client *client.Client
}

func newNode(b *testing.B) *node {
	b.Helper()
	store, err := sqlite.Open(filepath.Join(b.TempDir(), "bench.db"))
	if err != nil {
		b.Fatal(err)
	}
	reg := runtime.NewRegistry()
	err = errors.Join(runtime.AddOrchestration(reg, Chain), runtime.AddOrchestration(reg, Fan), runtime.AddActivity(reg, Noop))
	if err != nil {
		b.Fatal(err)
	}
	rt, err := runtime.Start(b.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		err := rt.Shutdown(context.WithoutCancel(b.Context()))
		enginetest.CheckLeases(b, store)
		if err := errors.Join(err, store.Close()); err != nil {
			b.Error(err)
		}
	})
	return &node{store: store, client: client.New(store, client.Options{})}
}

func (n *node) commits(b *testing.B) int64 {
	b.Helper()
	stats, err := n.store.Stats(b.Context(), provider.StatsRequest{})
	if err != nil {
		b.Fatal(err)
	}
	return stats.Commits
}

// run starts one orchestration and waits for its outcome.
func run(ctx context.Context, n *node, fn func(*orchestration.Context, int) (int, error), in int) error {
	h, err := client.Start(ctx, n.client, fn, in)
	if err != nil {
		return err
	}
	_, err = h.Wait(ctx)
	return err
}

// W1: orchestrations of 5 sequential activities. Eight goroutines start them as fast as
// they can; all are awaited.
func BenchmarkW1(b *testing.B) {
	const orchestrations, starters = 20_000, 8
	for b.Loop() {
		n := newNode(b)
		before, began := n.commits(b), time.Now()
		var starting, waiting errgroup.Group
		for range starters {
			starting.Go(func() error {
				for range orchestrations / starters {
					h, err := client.Start(b.Context(), n.client, Chain, 5)
					if err != nil {
						return err
					}
					waiting.Go(func() error {
						_, err := h.Wait(b.Context())
						return err
					})
				}
				return nil
			})
		}
		if err := errors.Join(starting.Wait(), waiting.Wait()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(orchestrations/time.Since(began).Seconds(), "orchestrations/s")
		b.ReportMetric(float64(n.commits(b)-before)/orchestrations, "commits/orchestration")
	}
}

// W2a: one orchestration with 1,000 parallel activities.
func BenchmarkW2a(b *testing.B) {
	for b.Loop() {
		n := newNode(b)
		began := time.Now()
		if err := run(b.Context(), n, Fan, 1_000); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s")
	}
}

// W3: on an idle system, 200 times 5 ms apart: start, one activity, wait for the result.
func BenchmarkW3(b *testing.B) {
	const times = 200
	for b.Loop() {
		n := newNode(b)
		before := n.commits(b)
		took := make([]time.Duration, times)
		tick := time.NewTicker(5 * time.Millisecond)
		for i := range took {
			<-tick.C
			began := time.Now()
			if err := run(b.Context(), n, Chain, 1); err != nil {
				b.Fatal(err)
			}
			took[i] = time.Since(began)
		}
		tick.Stop()
		slices.Sort(took)
		b.ReportMetric(took[times/2].Seconds()*1e3, "p50-ms")
		b.ReportMetric(took[times*99/100].Seconds()*1e3, "p99-ms")
		b.ReportMetric(float64(n.commits(b)-before)/times, "commits/orchestration")
	}
}

// W4: one orchestration of n activities in sequence. The time of one must not grow with n.
func BenchmarkW4(b *testing.B) {
	for _, activities := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(activities), func(b *testing.B) {
			for b.Loop() {
				n := newNode(b)
				before, began := n.commits(b), time.Now()
				if err := run(b.Context(), n, Chain, activities); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(time.Since(began).Seconds()*1e3/float64(activities), "ms/activity")
				b.ReportMetric(float64(n.commits(b)-before), "commits")
			}
		})
	}
}
