package dispatcher_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// With any number of slots each step of a chain is handed off, and none is fetched. A waiting fetch keeps no slot from
// the hand-off.
func TestChainIsHandedOffWithAnyNumberOfSlots(t *testing.T) {
	t.Parallel()
	for slots := 1; slots <= 200; slots = slots*3/2 + 1 {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: slots}, func(e *enginetest.Engine) {
				rt := e.Start(registry(e.T))
				synctest.Wait()
				const steps = 100
				enginetest.Output[int](e, e.Create("chain", "Chain", steps))
				if s := rt.Stats(); s.TasksHandedOff != steps || s.TasksFetched != 0 {
					e.T.Errorf("%d tasks were handed off, %d fetched", s.TasksHandedOff, s.TasksFetched)
				}
			})
		})
	}
}

// While a fetch waits, as many chains as there are slots are handed off at the same time.
func TestWaitingFetchHoldsNoSlot(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 2, 3, 8, 64, 100} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: slots}, func(e *enginetest.Engine) {
				release := make(chan struct{})
				reg := single(e, func(context.Context, int) (int, error) {
					<-release
					return 1, nil
				})
				rt := e.Start(reg)
				synctest.Wait()
				keys := make([]provider.UUID, slots)
				for i := range keys {
					keys[i] = e.Create(fmt.Sprint(i), "single", i)
					synctest.Wait()
				}
				if s := rt.Stats(); s.TasksHandedOff != int64(slots) || s.AttemptsRunning != int64(slots) || s.TasksFetched != 0 {
					e.T.Errorf("%d slots: %d tasks were handed off, %d run, %d were fetched", slots, s.TasksHandedOff, s.AttemptsRunning, s.TasksFetched)
				}
				close(release)
				for _, key := range keys {
					e.WaitEnded(key)
				}
			})
		})
	}
}

// Hand-offs and fetches at the same time never run more activities than there are slots. Each task runs once, and all
// end. Tasks for which no slot is left are released and do not count as attempts.
func TestHandOffsAndFetchesShareTheSlots(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for round := range uint64(12) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, round))
			slots, instances := 1+random.IntN(6), 2+random.IntN(12)
			enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: slots, Lease: time.Hour}, func(e *enginetest.Engine) {
				var g gauge
				began := time.Now()
				pauses := make([]time.Duration, 64)
				for i := range pauses {
					pauses[i] = time.Duration(random.IntN(200)) * time.Millisecond
				}
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "work", func(ctx context.Context, n int) (int, error) {
					return g.work(pauses[n%len(pauses)])(ctx, n)
				})
				enginetest.Orchestration(e.T, reg, "steps", func(ctx *octx, n int) (int, error) {
					for i := range 5 {
						all := make([]orchestration.Future[int], 1+(n+i)%4)
						for j := range all {
							all[j] = orchestration.StartActivityNamed[int](ctx, "work", 7*n+3*i+j)
						}
						if _, err := orchestration.All(ctx, all...); err != nil {
							return 0, err
						}
					}
					return n, nil
				})
				rt := e.Start(reg)
				synctest.Wait()
				calls := 0
				keys := make([]provider.UUID, instances)
				for n := range keys {
					keys[n] = e.Create(fmt.Sprint(n), "steps", n)
					for i := range 5 {
						calls += 1 + (n+i)%4
					}
				}
				for n, key := range keys {
					if got := enginetest.Output[int](e, key); got != n {
						e.T.Errorf("got %d, want %d", got, n)
					}
				}
				if took := time.Since(began); took > 30*time.Minute {
					e.T.Errorf("a lease of nobody was waited for: all took %v", took)
				}
				s := rt.Stats()
				if g.peak() > slots || g.started != calls {
					e.T.Errorf("%d slots: %d ran at the same time, %d of %d calls ran", slots, g.peak(), g.started, calls)
				}
				if ran := s.TasksHandedOff + s.TasksFetched; ran != int64(calls) || s.AttemptsCompleted != int64(calls) {
					e.T.Errorf("%d calls: %d handed off, %d fetched to run, %d given back", calls, s.TasksHandedOff, s.TasksFetched, s.AttemptsReleased)
				}
				synctest.Wait()
				if s := rt.Stats(); s.AttemptsRunning != 0 {
					e.T.Errorf("%+v", s)
				}
			})
		})
	}
}
