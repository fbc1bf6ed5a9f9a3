package workload

import (
	"context"
	"strings"
	"time"
)

// Workload is one of W1 to W10.
type Workload struct {
	Name  string
	Title string
	Unit  string // unit of Result.Done
	Of    string // meaning of Result.Latencies
	// Sizes are the measured values of Size.N.
	Sizes []int
	// Workers are the values of Size.Workers; nil: the node itself does the work.
	Workers []int
	// Size has the other parameters.
	Size Size
	// Pair reports whether to compare the latency with that of two bare commits.
	Pair bool
	// Prepare is not measured. It may be nil.
	Prepare func(ctx context.Context, n *Node, s Size) error
	// Run is measured.
	Run func(ctx context.Context, n *Node, s Size) (Result, error)
}

// Size is the size of a run.
type Size struct {
	N        int           // orchestrations, activities or events
	For      time.Duration // duration of the run, or of the sleep of its orchestrations
	Rate     float64       // W1 and W3: starts per second, at fixed times; 0: W1 as fast as possible, W3 every 5 ms. W5: timers due per second; 0: as started
	Finished int           // W8: finished instances in the store
	Starters int           // W1, W6, W8 and W9: goroutines that start or send, each one call at a time; 0: 8
	Workers  int           // W9: worker processes; 0: the node itself
}

// All returns all workloads in order.
func All() []Workload {
	const (
		chains         = "orchestrations of 5 activities in sequence"
		orchestrations = "orchestrations"
		activities     = "activities"
	)
	return []Workload{
		{Name: "w1", Title: chains, Unit: orchestrations, Of: startToOutcome, Sizes: []int{20_000}, Run: runChains},
		{Name: "w2a", Title: "one orchestration of parallel activities", Unit: activities, Of: startToOutcome, Sizes: []int{1_000}, Run: runFan},
		{Name: "w2b", Title: "orchestrations of 50 parallel activities", Unit: orchestrations, Of: startToOutcome, Sizes: []int{100}, Run: runFans},
		{Name: "w3", Title: "one activity on an idle system, every 5 ms", Unit: orchestrations, Of: momentToOutcome, Sizes: []int{200}, Pair: true, Run: runIdle},
		{
			Name: "w4", Title: "one orchestration of activities in sequence", Unit: activities, Of: "from result to result",
			Sizes: []int{1_000, 10_000}, Run: runLongChain,
		},
		{Name: "w5", Title: "timers due together", Unit: "timers", Of: "lateness", Sizes: []int{2_000}, Size: Size{For: 5 * time.Second}, Run: runTimers},
		{Name: "w6", Title: "events to one orchestration", Unit: "events", Of: "to send one", Sizes: []int{2_000}, Run: runEvents},
		{Name: "w7", Title: "sleeping instances", Unit: "instances", Sizes: []int{100_000}, Size: Size{For: time.Minute}, Prepare: putToSleep, Run: runNothing},
		{
			Name: "w8", Title: chains + ", among finished ones", Unit: orchestrations, Of: startToOutcome, Sizes: []int{20_000},
			Size: Size{Finished: 1_000_000}, Prepare: fill, Run: runChains,
		},
		{
			Name: "w9", Title: chains + ", by several processes", Unit: orchestrations, Of: startToOutcome, Sizes: []int{20_000},
			Workers: []int{1, 2, 4}, Run: runChains,
		},
		{
			Name: "w10", Title: "W1, W2b, W5 and W6 together, 1 KiB and 64 KiB", Unit: orchestrations, Of: "start to outcome of 5 activities",
			Sizes: []int{100}, Size: Size{For: 10 * time.Minute}, Run: runSoak,
		},
	}
}

// Find returns the workloads of a name: one, or a family such as w2.
func Find(name string) (found []Workload) {
	for _, w := range All() {
		if w.Name == name || strings.TrimRight(w.Name, "ab") == name {
			found = append(found, w)
		}
	}
	return found
}
