package dispatcher_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// running counts the goroutines that are in the code of an instance.
type running struct {
	mu        sync.Mutex
	now, runs map[string]int
	most      int
}

func newRunning() *running { return &running{now: make(map[string]int), runs: make(map[string]int)} }

// enter counts a run until the returned function is called.
func (r *running) enter(id string) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[id]++
	r.now[id]++
	r.most = max(r.most, r.now[id])
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now[id]--
	}
}

// Code that runs for long before its first call is run once, however long that is, and by one goroutine at a time.
func TestEagerStart_OneRunAtATime(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{4 * time.Millisecond, 6 * time.Millisecond, 30 * time.Millisecond, 1500 * time.Millisecond} {
		t.Run(took.String(), func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				code := newRunning()
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "slow", func(ctx *octx, n int) (int, error) {
					leave := code.enter(ctx.Info().ID)
					time.Sleep(took) //nolint:forbidigo // virtual time
					leave()
					return orchestration.CallActivity(ctx, Double, n)
				})
				rt, c := serve(e, e.Store, reg, e.Options)
				const starts = 20
				for i := range starts {
					if got, err := begin(e, c, "slow").Wait(e.T.Context()); got != 42 || err != nil {
						e.T.Errorf("start %d: got %d, %v", i, got, err)
					}
				}
				synctest.Wait()
				if len(code.runs) != starts || code.most != 1 {
					e.T.Errorf("%d instances ran, %d goroutines in one at the same time", len(code.runs), code.most)
				}
				for id, n := range code.runs {
					if n != 1 {
						e.T.Errorf("the code of %s ran %d times", id, n)
					}
				}
				if s := rt.Stats(); s.TurnsStuck != 0 || len(rt.Leaked()) != 0 {
					e.T.Errorf("%+v, leaked %v", s, rt.Leaked())
				}
			})
		})
	}
}

// Starts do not wait for code that took long the last time. After a while one tries again.
func TestEagerStart_SlowCodeIsStoredFirst(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const slow = 100 * time.Millisecond
		took := slow
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "slow", func(ctx *octx, n int) (int, error) {
			time.Sleep(took) //nolint:forbidigo // virtual time
			return orchestration.CallActivity(ctx, Double, n)
		})
		w := &writes{Full: e.Store}
		_, c := serve(e, w, reg, e.Options)
		steps := []struct {
			pause, code time.Duration
			waits, with bool
		}{
			{0, slow, true, true},
			{0, slow, false, false},
			{slow, slow, false, false},
			{30 * slow, time.Millisecond, false, true},
			{0, time.Millisecond, false, true},
		}
		before := 0
		for i, step := range steps {
			time.Sleep(step.pause) //nolint:forbidigo // virtual time
			took = step.code
			began := time.Now()
			h := begin(e, c, "slow")
			if waited := time.Since(began) >= slow; waited != step.waits {
				e.T.Errorf("start %d waited: %v, want %v", i, waited, step.waits)
			}
			with, _ := w.eager()
			if (with > before) != step.with {
				e.T.Errorf("start %d came with its first turn: %v, want %v", i, with > before, step.with)
			}
			before = with
			if got, err := h.Wait(e.T.Context()); got != 42 || err != nil {
				e.T.Error(fmt.Errorf("start %d: got %d: %w", i, got, err))
			}
		}
	})
}
