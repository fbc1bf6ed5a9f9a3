package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// oneWriter is a store that does one write after the other, and each takes its time.
type oneWriter struct {
	*provider.Full

	each time.Duration
	mu   sync.Mutex
	free time.Time // when the writer is free
}

func (w *oneWriter) write() {
	w.mu.Lock()
	now := time.Now()
	if w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(w.each)
	wait := w.free.Sub(now)
	w.mu.Unlock()
	time.Sleep(wait) //nolint:forbidigo // virtual time
}

func (w *oneWriter) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := w.Provider.FetchTurns(ctx, req)
	w.write()
	return res, err
}

func (w *oneWriter) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	w.write()
	return w.Provider.CommitTurn(ctx, req)
}

func (w *oneWriter) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	w.write()
	return w.Provider.ReportTasks(ctx, req)
}

// spans notes how long the orchestrations took from their first turn to their last, and how long they waited for the first.
type spans struct {
	mu       sync.Mutex
	began    time.Time
	first    map[string]time.Time
	took     []time.Duration
	queueing time.Duration // the longest wait for a first turn
}

// add registers an orchestration of five activities in sequence that each take their time.
func (s *spans) add(t testing.TB, reg *runtime.Registry, each time.Duration) {
	t.Helper()
	s.began, s.first = time.Now(), map[string]time.Time{}
	enginetest.Activity(t, reg, "work", func(context.Context, none) (none, error) {
		time.Sleep(each) //nolint:forbidigo // virtual time
		return none{}, nil
	})
	enginetest.Orchestration(t, reg, "five", func(ctx *octx, _ none) (none, error) {
		id := ctx.Info().ID
		s.mu.Lock()
		if _, again := s.first[id]; !again { // it may be evicted and replayed
			s.first[id] = time.Now()
			s.queueing = max(s.queueing, time.Since(s.began))
		}
		s.mu.Unlock()
		for range 5 {
			if _, err := orchestration.CallActivityNamed[none](ctx, "work", none{}); err != nil {
				return none{}, err
			}
		}
		s.mu.Lock()
		s.took = append(s.took, time.Since(s.first[id]))
		s.mu.Unlock()
		return none{}, nil
	})
}

// nearlyAll is what 99 in 100 stayed below.
func (s *spans) nearlyAll() time.Duration {
	slices.Sort(s.took)
	return s.took[(len(s.took)*99-1)/100]
}

// Many starts wait in a store that is the bottleneck. Begun instances continue from memory at the same pace as with
// few. Four times the backlog means four times the wait for the first turn, but no longer from there to the end.
func TestBacklogDoesNotSlowWhatHasBegun(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	run := func(backlog int) *spans {
		s := new(spans)
		enginetest.Bubble(t, runtime.Options{MaxConcurrentTurns: 40}, func(e *enginetest.Engine) {
			reg := registry(e.T)
			s.add(e.T, reg, 0)
			var keys []provider.UUID
			for i := range backlog {
				keys = append(keys, e.Create(fmt.Sprint(i), "five", none{}))
			}
			e.StartOn(&oneWriter{Full: e.Store, each: time.Millisecond}, reg, e.Options)
			for _, key := range keys {
				e.WaitEnded(key)
			}
		})
		return s
	}
	few, many := run(200), run(800)
	t.Logf("few: %v to begin, %v to end; many: %v, %v", few.queueing, few.nearlyAll(), many.queueing, many.nearlyAll())
	if many.queueing < 3*few.queueing {
		t.Errorf("the last of 800 began after %v, of 200 after %v: the store is no bottleneck", many.queueing, few.queueing)
	}
	if many.nearlyAll() > 2*few.nearlyAll() {
		t.Errorf("from first turn to end: %v with 800 waiting, %v with 200", many.nearlyAll(), few.nearlyAll())
	}
}

// Where activities are the bottleneck they wait in one queue, in order, so that what has begun is slowed by what begins. Back-pressure
// bounds both: the starts wait at their clients.
func TestBackPressureBoundsWhatHasBegun(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	const slots, limit = 10, 20
	run := func(starts int) (s *spans, slowest time.Duration) {
		s = new(spans)
		enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: slots}, func(e *enginetest.Engine) {
			reg := registry(e.T)
			s.add(e.T, reg, time.Second)
			e.Start(reg)
			c := clienttest.New(e.T, e.Store, client.Options{MaxBacklog: limit})
			var all sync.WaitGroup
			var mu sync.Mutex
			for range starts {
				all.Go(func() {
					h, err := client.StartNamed[none](e.T.Context(), c, "five", none{})
					mu.Lock()
					slowest = max(slowest, time.Since(s.began))
					mu.Unlock()
					if err == nil {
						_, err = h.Wait(e.T.Context())
					}
					if err != nil {
						e.T.Error(err)
					}
				})
			}
			all.Wait()
		})
		return s, slowest
	}
	few, soon := run(50)
	many, late := run(200)
	t.Logf("few: the last start took %v, and %v to end; many: %v, %v", soon, few.nearlyAll(), late, many.nearlyAll())
	if late < 3*soon {
		t.Errorf("the last of 200 starts took %v, of 50 %v: they are not held back", late, soon)
	}
	// Each of five activities waits for those before it, at most the limit, and for one more round of the slots.
	if most := 5 * (limit/slots + 2) * time.Second; many.nearlyAll() > most {
		t.Errorf("from first turn to end: %v, want at most %v", many.nearlyAll(), most)
	}
}
