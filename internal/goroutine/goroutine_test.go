package goroutine_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/goroutine"
	"github.com/perdure/perdure/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// parked tells its number and waits.
func parked(number chan<- uint64, end <-chan struct{}) {
	number <- goroutine.ID()
	<-end
}

// The stack of one goroutine is found among so many that their stacks fill megabytes.
func TestStacksAmongMany(t *testing.T) {
	t.Parallel()
	const others = 10_000
	number, end := make(chan uint64), make(chan struct{})
	var all sync.WaitGroup
	ids := map[uint64]bool{}
	var first, last uint64
	for i := range others {
		all.Go(func() { parked(number, end) })
		last = <-number
		if i == 0 {
			first = last
		}
		ids[last] = true
	}
	if len(ids) != others || ids[0] {
		t.Errorf("%d numbers for %d goroutines", len(ids), others)
	}
	stacks := goroutine.Stacks(first, last)
	for _, id := range []uint64{first, last} {
		if !strings.Contains(stacks[id], "goroutine_test.parked") {
			t.Errorf("goroutine %d is at %q", id, stacks[id])
		}
	}
	close(end)
	all.Wait()
	if stacks := goroutine.Stacks(last, goroutine.ID()); stacks[last] != "" || len(stacks) != 1 {
		t.Errorf("after its end: %v", stacks)
	}
}
