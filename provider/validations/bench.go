package validations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// Bench measures the calls that the engine makes most, to compare providers and their releases. open makes a new, empty
// provider for each figure and cleans up through b.
//
// Most figures exist for 1, 8 and 64 concurrent callers:
//
//   - create: store an instance.
//   - create-claimed: store an instance while a fetch is parked, until the fetch has it.
//   - send: store a message.
//   - step: one commit that completes the task in hand, adds two events and schedules the next task already leased. An
//     orchestration in memory makes no other call for a step.
//   - turn: send a message, fetch the turn and commit it.
//   - task: fetch and report a task, with a hundredth of the turn that schedules and consumes a hundred of them.
//   - history: read 1,000 events of 200 bytes.
//   - wake: from the start of a create in an idle store until a parked fetch has the instance.
//   - life: after 5 ms of rest, store an instance with its first turn, which hands a task to its caller, and then the turn
//     that has the result and ends it. A short orchestration in an idle process makes no other calls.
//
// Bench reports the time of an operation, shared by the callers, and allocations. p50-us and p99-us are latencies of one caller.
// commits/op counts transactions of the store, as Stats does. Bench then checks that the store has the data: a provider that
// lost some gets no figure. Compare medians of several runs, for example of
//
//	go test -run '^$' -bench Provider -count 5
func Bench(b *testing.B, open func(b *testing.B) provider.Provider) {
	b.Helper()
	for _, l := range loads() {
		for _, callers := range l.callers {
			b.Run(fmt.Sprintf("%s/callers=%d", l.name, callers), func(b *testing.B) {
				p := open(b)
				r := &round{p: p, callers: callers}
				if err := r.begin(b.Context(), l); err != nil {
					b.Fatal(err)
				}
				before := commitsOf(p)
				b.ReportAllocs()
				if l.bytes > 0 {
					b.SetBytes(l.bytes)
				}
				b.ResetTimer()
				if err := r.run(b.Context(), b.N); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := r.verify(b.Context()); err != nil {
					b.Fatal(err)
				}
				if l.rests {
					b.ReportMetric(0, "ns/op") // not shown: it includes the setup
				}
				b.ReportMetric(r.percentile(50), "p50-us")
				b.ReportMetric(r.percentile(99), "p99-us")
				b.ReportMetric(float64(commitsOf(p)-before)/float64(b.N), "commits/op")
			})
		}
	}
}

// commitsOf returns 0 for a provider that does not count.
func commitsOf(p provider.Provider) int64 {
	return provider.CountersOf(p).Commits
}

// A load is a measured operation.
type load struct {
	name    string
	callers []int
	bytes   int64 // read by one operation
	rests   bool  // rest between operations
	// caller prepares one caller. Callers are prepared one after the other.
	caller func(ctx context.Context, p provider.Provider, n int) (caller, error)
}

// A caller runs operations one after the other.
type caller interface {
	// do runs one operation and returns when its measured part began.
	do(ctx context.Context) (began time.Time, err error)
	// verify checks that the store has the data of all operations.
	verify(ctx context.Context) error
}

// A round is one measurement.
type round struct {
	p       provider.Provider
	callers int
	all     []caller

	mu   sync.Mutex
	took []time.Duration
}

func (r *round) begin(ctx context.Context, l load) error {
	for n := range r.callers {
		c, err := l.caller(ctx, r.p, n)
		if err != nil {
			return fmt.Errorf("preparing %s: %w", l.name, err)
		}
		r.all = append(r.all, c)
	}
	return nil
}

// run shares n operations among the callers.
func (r *round) run(ctx context.Context, n int) error {
	var left atomic.Int64
	left.Store(int64(n))
	var group sync.WaitGroup
	errs := make([]error, len(r.all))
	for i, c := range r.all {
		group.Go(func() {
			took := make([]time.Duration, 0, n/len(r.all)+1)
			for left.Add(-1) >= 0 && errs[i] == nil {
				var began time.Time
				began, errs[i] = c.do(ctx)
				took = append(took, time.Since(began))
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.took = append(r.took, took...)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (r *round) verify(ctx context.Context) error {
	for _, c := range r.all {
		if err := c.verify(ctx); err != nil {
			return fmt.Errorf("the store lost measured data: %w", err)
		}
	}
	return nil
}

// percentile returns microseconds.
func (r *round) percentile(p int) float64 {
	if len(r.took) == 0 {
		return 0
	}
	slices.Sort(r.took)
	return float64(r.took[(len(r.took)-1)*p/100].Nanoseconds()) / 1000
}
