package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	usage "github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
)

// BenchmarkFollowers runs W1 beside 1,000 waiting instances, without and with a follower of each, in turns, on both stores. It reports the ratio of each
// pair's CPU times, which include those of a server on this machine, so that other work of the machine concerns both alike:
//
//	go -C bench test . -run '^$' -bench Followers -benchtime 8x
func BenchmarkFollowers(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			var ratios []float64
			sum := map[int]float64{}
			for b.Loop() {
				for _, order := range [][]int{{0, 1_000}, {1_000, 0}} {
					cpu := map[int]float64{}
					for _, followers := range order {
						store, server := freshStore(b, kind)
						cpu[followers] = followed(b, store, server, followers)
						sum[followers] += cpu[followers]
					}
					ratios = append(ratios, cpu[1_000]/cpu[0])
				}
			}
			slices.Sort(ratios)
			b.ReportMetric(0, "ns/op") // not shown, since it includes creating the stores
			b.ReportMetric(sum[0]/float64(len(ratios)), "µs-cpu/orchestration-without")
			b.ReportMetric(sum[1_000]/float64(len(ratios)), "µs-cpu/orchestration-with")
			b.ReportMetric(sum[1_000]/sum[0], "ratio-of-sums")
			b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
		})
	}
}

// freshStore opens an empty store. server returns the CPU time of its server so far.
func freshStore(tb testing.TB, kind string) (store provider.Provider, server func() time.Duration) {
	tb.Helper()
	var err error
	server = func() time.Duration { return 0 }
	if kind == "postgres" {
		url := postgrestest.URL(tb)
		server = serverCPU(tb, url)
		store, err = postgres.OpenWith(tb.Context(), url, postgres.Options{Schema: postgrestest.Schema(tb, url)})
	} else {
		store, err = sqlite.Open(filepath.Join(tb.TempDir(), "follow.db"))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return store, server
}

// serverCPU returns a function that returns the CPU time of all processes of a server, which must be on this machine.
func serverCPU(tb testing.TB, url string) func() time.Duration {
	tb.Helper()
	process := postgrestest.Process(tb, url)
	return func() time.Duration {
		cpu, ok := usage.Family(process)
		if !ok {
			tb.Skip("needs a server on this machine")
		}
		return cpu
	}
}

// followed runs W1 beside followers and returns the CPU time of each orchestration, in microseconds.
func followed(b *testing.B, store provider.Provider, server func() time.Duration, followers int) float64 {
	b.Helper()
	n, end := onStore(b, store)
	defer end()
	c := clienttest.New(b, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(b.Context())
	var watching sync.WaitGroup
	seen := make(chan struct{}, followers)
	for i := range 1_000 { // in both runs, since an instance that waits costs memory itself
		h, err := client.Start(ctx, c, workload.Gather, 1, client.WithID(fmt.Sprint("followed-", i)))
		if err != nil {
			b.Fatal(err)
		}
		if i >= followers {
			continue
		}
		watching.Go(func() {
			first := true
			for _, err := range h.Watch(ctx) {
				if err != nil && !errors.Is(err, context.Canceled) {
					b.Error(err)
				}
				if first {
					first = false
					seen <- struct{}{}
				}
			}
		})
	}
	for range followers {
		<-seen
	}
	w1 := workload.Find("w1")[0]
	if _, err := w1.Run(ctx, n, workload.Size{N: 6_000}); err != nil { // meanwhile the first look makes each follower read once more
		b.Fatal(err)
	}
	before, _ := usage.Self()
	beforeServer := server()
	r, err := w1.Run(ctx, n, workload.Size{N: 20_000})
	used, _ := usage.Self()
	cpu := used.CPU - before.CPU + server() - beforeServer
	stop()
	watching.Wait()
	if err != nil {
		b.Fatal(err)
	}
	return cpu.Seconds() / float64(r.Done) * 1e6
}
