package aggregate_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/aggregate"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// world simulates the sources.
type world struct {
	mu    sync.Mutex
	asked map[string]int
}

// ask returns the length of a source's name, or behaves as the name says.
func (w *world) ask(ctx context.Context, source string) (int, error) {
	w.mu.Lock()
	w.asked[source]++
	n := w.asked[source]
	w.mu.Unlock()
	switch {
	case source == "dead", source == "flaky" && n == 1:
		return 0, errors.New("no answer")
	case source == "slow":
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return len(source), nil
}

// call runs an orchestration in a new world and returns how often each source was asked.
func call[Out any](fn func(*orchestration.Context, []string) (Out, error), sources ...string) (Out, map[string]int) {
	w := &world{asked: map[string]int{}}
	s := &aggregate.Sources{Ask: w.ask}
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := errors.Join(
			runtime.AddActivity(reg, s.Figure), runtime.AddActivity(reg, s.All),
			runtime.AddOrchestration(reg, aggregate.Summarize), runtime.AddOrchestration(reg, aggregate.Total),
		); err != nil {
			log.Panic(err)
		}
	})
	defer stop()
	h, err := client.Start(context.Background(), c, fn, sources)
	if err != nil {
		log.Panic(err)
	}
	out, err := h.Wait(context.Background())
	if err != nil {
		log.Panic(err)
	}
	return out, w.asked
}

func Example() {
	sum, asked := call(aggregate.Summarize, "north", "dead", "south", "flaky", "slow")
	fmt.Println(sum.Total)
	for _, missing := range sum.Missing {
		fmt.Println(missing)
	}
	fmt.Println(asked)
	// Output:
	// 15
	// dead: no answer
	// slow: scope timed out after 5s
	// map[dead:3 flaky:2 north:1 slow:1 south:1]
}

func Example_oneActivity() {
	fmt.Println(call(aggregate.Total, "north", "flaky", "south"))
	// Output:
	// 15 map[flaky:2 north:1 south:1]
}
