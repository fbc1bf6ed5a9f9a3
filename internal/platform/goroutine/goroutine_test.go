package goroutine_test

import (
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// parked sends its number and waits.
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

// Each of many goroutines has the number in the header of its stack. So has a deep stack, and a coroutine that others
// resume.
func TestIDIsThatOfTheStack(t *testing.T) {
	t.Parallel()
	if goroutine.Fields > 0 && goroutine.Place() == 0 {
		t.Error("the place of the number was not found: each call costs microseconds")
	}
	same := func() {
		if id, header := goroutine.ID(), goroutine.Header(); id != header || id == 0 {
			t.Errorf("got %d, the stack says %d", id, header)
		}
	}
	var deep func(n int)
	deep = func(n int) {
		if n > 0 {
			deep(n - 1)
		}
		if n%1000 == 0 {
			same()
		}
	}
	var all sync.WaitGroup
	for range 1000 {
		all.Go(same)
	}
	all.Go(func() { deep(10_000) })
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		same()
		yield(struct{}{})
		same()
	})
	next()
	all.Go(func() { next() })
	all.Wait()
	stop()
}

// Where no place or more than one fits, none is taken.
func TestPlaceMustBeSure(t *testing.T) {
	t.Parallel()
	if place := goroutine.Find(8); place != 0 {
		t.Errorf("found at %d where nothing is", place)
	}
	if place := goroutine.Find(goroutine.Fields); place != goroutine.Place() {
		t.Errorf("found at %d and at %d", place, goroutine.Place())
	}
}

// A goroutine is bound from the first call to as many that undo it.
func TestBoundIsWhoLockedItsThread(t *testing.T) {
	t.Parallel()
	if goroutine.Fields == 0 {
		if !goroutine.Bound() {
			t.Error("told where it cannot be")
		}
		return
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			for range 3 {
				if goroutine.Bound() {
					t.Error("bound before it was")
				}
				runtime.LockOSThread()
				runtime.LockOSThread()
				runtime.Gosched()
				runtime.UnlockOSThread()
				if !goroutine.Bound() {
					t.Error("not bound though it is")
				}
				runtime.UnlockOSThread()
			}
		})
	}
	all.Wait()
	if goroutine.FindBinding(8) != 0 {
		t.Error("found where nothing is")
	}
}

func BenchmarkID(b *testing.B) {
	for b.Loop() {
		goroutine.ID()
	}
}
