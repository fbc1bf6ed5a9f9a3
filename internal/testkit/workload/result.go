package workload

import (
	"math"
	"slices"
	"time"
)

// Result is the result of one run.
type Result struct {
	Done      int // in the workload's unit
	Steps     int // starts of orchestrations, and the results, timers and events that they waited for
	Took      time.Duration
	Latencies []time.Duration
	Figures   []Figure
}

// Figure is an additional figure.
type Figure struct {
	Name  string
	Value float64
	Unit  string
}

// PerSecond returns the throughput.
func (r Result) PerSecond() float64 { return float64(r.Done) / r.Took.Seconds() }

// Percentile returns the smallest latency that p percent of all do not exceed, or 0 without latencies.
func (r Result) Percentile(p float64) time.Duration { return percentile(r.Latencies, p) }

func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[max(0, int(math.Ceil(float64(len(sorted))*p/100))-1)]
}
