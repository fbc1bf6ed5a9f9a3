package bench

import (
	"runtime"
	"slices"
	"testing"
	"time"

	usage "github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/internal/testkit/workload"
)

// BenchmarkObserver measures what the observer of metrics costs W1, in CPU time of the process: the machine may be busy otherwise. It runs
// W1 without, with, with and without the observer in turns, each time on a new store, and reports the ratio of each pair's CPU times.
//
//	go -C bench test . -run '^$' -bench Observer -benchtime 20x
func BenchmarkObserver(b *testing.B) {
	const orchestrations = 4_000
	var with, without time.Duration
	var ratios []float64
	for b.Loop() {
		for _, order := range [][]string{{"", "metrics"}, {"metrics", ""}} {
			cpu := map[string]time.Duration{}
			for _, of := range order {
				cpu[of] = cpuOf(b, of, orchestrations)
			}
			with, without = with+cpu["metrics"], without+cpu[""]
			ratios = append(ratios, cpu["metrics"].Seconds()/cpu[""].Seconds())
		}
	}
	slices.Sort(ratios)
	runs := float64(len(ratios) * orchestrations)
	b.ReportMetric(0, "ns/op") // not shown, since it includes creating the stores
	b.ReportMetric(float64(without.Microseconds())/runs, "cpu-us/orchestration-without")
	b.ReportMetric(float64(with.Microseconds())/runs, "cpu-us/orchestration-with")
	b.ReportMetric(with.Seconds()/without.Seconds(), "ratio-of-sums")
	b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
}

// cpuOf returns the CPU time of W1 with an observer; "": none.
func cpuOf(b *testing.B, observer string, orchestrations int) time.Duration {
	b.Helper()
	b.Setenv("PERDURE_BENCH_OBSERVE", observer)
	n, end := newNode(b)
	defer end()
	w := workload.Find("w1")[0]
	size := w.Size
	size.N = orchestrations
	runtime.GC()
	before, ok := usage.Self()
	if !ok {
		b.Skip("this system does not tell the CPU time of a process")
	}
	if _, err := w.Run(b.Context(), n, size); err != nil {
		b.Fatal(err)
	}
	after, _ := usage.Self()
	return after.CPU - before.CPU
}
