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

// Bench measures what the engine asks of a provider most, so that providers and their
// releases can be compared. open makes a fresh, empty one for each figure and cleans up after it through b.
//
// The figures, most of them with 1, 8 and 64 callers at once:
//
//   - create: an instance is stored.
//   - create-claimed: the same while a fetch is parked, until that fetch has the instance.
//   - send: a message is stored.
//   - step: a commit completes the task in hand, adds two events and schedules the next task already
//     leased. It is all that the storage sees of one step of an orchestration that is in memory.
//   - turn: a message is sent, the turn fetched and committed.
//   - task: a task is fetched and reported. A hundredth of the turn that schedules and consumes a hundred is in it.
//   - history: 1,000 events of 200 bytes are read.
//   - wake: from the beginning of a create in an idle store until a parked fetch has the instance.
//   - life: after a rest of 5 ms an instance is stored with its first turn, which hands a task to its caller, and then the
//     turn that has the result and ends it. It is all that the storage sees of a short orchestration in an idle process.
//
// Beside the time for each operation, which callers share, and allocations it reports p50-us and p99-us, what one
// caller waits, and commits/op, transactions of the store as its Stats count them. What was measured is looked at
// afterwards: a provider that did not store it gets no figure. Compare medians of several runs, as of
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
				before := commitsOf(b.Context(), p)
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
					b.ReportMetric(0, "ns/op") // not shown: it is the rest
				}
				b.ReportMetric(r.percentile(50), "p50-us")
				b.ReportMetric(r.percentile(99), "p99-us")
				b.ReportMetric(float64(commitsOf(b.Context(), p)-before)/float64(b.N), "commits/op")
			})
		}
	}
}

func commitsOf(ctx context.Context, p provider.Provider) int64 {
	stats, err := p.Stats(ctx, provider.StatsRequest{})
	if err != nil {
		return 0
	}
	return stats.Commits
}

// A load is an operation that is measured.
type load struct {
	name    string
	callers []int
	bytes   int64 // that one operation reads
	rests   bool  // between operations
	// caller prepares one caller. Callers are prepared one after the other.
	caller func(ctx context.Context, p provider.Provider, n int) (caller, error)
}

// A caller makes operations one after the other.
type caller interface {
	// do makes one operation and answers when what is measured of it began.
	do(ctx context.Context) (began time.Time, err error)
	// verify tells whether what was done is stored.
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
			return fmt.Errorf("what was measured is not stored: %w", err)
		}
	}
	return nil
}

// percentile answers microseconds.
func (r *round) percentile(p int) float64 {
	if len(r.took) == 0 {
		return 0
	}
	slices.Sort(r.took)
	return float64(r.took[(len(r.took)-1)*p/100].Nanoseconds()) / 1000
}
