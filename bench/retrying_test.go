package bench

import (
	"slices"
	"testing"
	"time"

	usage "github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/internal/testkit/listing"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
)

// BenchmarkRetrying runs W1 beside 100,000 activities that wait, of which none or all are tried again, in turns, on both stores. It reports the
// ratio of each pair's CPU times, as BenchmarkFollowers does:
//
//	go -C bench test . -run '^$' -bench Retrying -benchtime 4x
func BenchmarkRetrying(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			var ratios []float64
			sum := map[bool]float64{}
			for b.Loop() {
				for _, order := range [][]bool{{false, true}, {true, false}} {
					cpu := map[bool]float64{}
					for _, retry := range order {
						store, server := freshStore(b, kind)
						listing.FillTasks(b, store, 100_000, retry)
						cpu[retry] = besides(b, store, server)
						sum[retry] += cpu[retry]
					}
					ratios = append(ratios, cpu[true]/cpu[false])
				}
			}
			slices.Sort(ratios)
			b.ReportMetric(0, "ns/op") // not shown, since it includes filling the stores
			b.ReportMetric(sum[false]/float64(len(ratios)), "µs-cpu/orchestration-without")
			b.ReportMetric(sum[true]/float64(len(ratios)), "µs-cpu/orchestration-with")
			b.ReportMetric(sum[true]/sum[false], "ratio-of-sums")
			b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
		})
	}
}

// besides runs W1 on a store and returns the CPU time of each orchestration, in microseconds.
func besides(b *testing.B, store provider.Provider, server func() time.Duration) float64 {
	b.Helper()
	n, end := onStore(b, store)
	defer end()
	w1 := workload.Find("w1")[0]
	if _, err := w1.Run(b.Context(), n, workload.Size{N: 2_000}); err != nil {
		b.Fatal(err)
	}
	before, _ := usage.Self()
	beforeServer := server()
	r, err := w1.Run(b.Context(), n, workload.Size{N: 20_000})
	used, _ := usage.Self()
	cpu := used.CPU - before.CPU + server() - beforeServer
	if err != nil {
		b.Fatal(err)
	}
	return cpu.Seconds() / float64(r.Done) * 1e6
}
