package dispatcher_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
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

// slowly is a node with an orchestration whose first turn takes as long as each start says.
type slowly struct {
	e    *enginetest.Engine
	w    *writes
	c    *client.Client
	took time.Duration
}

func newSlowly(e *enginetest.Engine) *slowly {
	s := &slowly{e: e, w: &writes{Full: e.Store}}
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "slow", func(ctx *octx, n int) (int, error) {
		time.Sleep(s.took) //nolint:forbidigo // virtual time
		return orchestration.CallActivity(ctx, Double, n)
	})
	_, s.c = serve(e, s.w, reg, e.Options)
	return s
}

// start starts an instance. It returns how long the caller waited and whether the start came with its first turn.
func (s *slowly) start(took time.Duration) (waited time.Duration, with bool) {
	s.e.T.Helper()
	s.took = took
	before, _ := s.w.eager()
	began := time.Now()
	h := begin(s.e, s.c, "slow")
	waited = time.Since(began)
	after, _ := s.w.eager()
	if got, err := h.Wait(s.e.T.Context()); got != 42 || err != nil {
		s.e.T.Errorf("got %d, %v", got, err)
	}
	return waited, after > before
}

// Starts do not wait for code that took long the last two times. After a while one tries again.
func TestEagerStart_SlowCodeIsStoredFirst(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const slow = 100 * time.Millisecond
		s := newSlowly(e)
		for i, step := range []struct {
			pause, code time.Duration
			waits, with bool
		}{
			{0, slow, true, true},
			{0, slow, true, true},
			{0, slow, false, false},
			{slow, slow, false, false},
			{30 * slow, time.Millisecond, false, true},
			{0, time.Millisecond, false, true},
		} {
			time.Sleep(step.pause) //nolint:forbidigo // virtual time
			waited, with := s.start(step.code)
			if waits := waited >= slow; waits != step.waits {
				e.T.Errorf("start %d waited: %v, want %v", i, waits, step.waits)
			}
			if with != step.with {
				e.T.Errorf("start %d came with its first turn: %v, want %v", i, with, step.with)
			}
		}
	})
}

// One slow first turn changes nothing for later starts, however often that happens: a busy machine stops any code now and then.
func TestEagerStart_OneSlowTurnIsForgotten(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		s := newSlowly(e)
		for i := range 10 {
			for _, took := range []time.Duration{50 * time.Millisecond, time.Millisecond} {
				if _, with := s.start(took); !with {
					e.T.Errorf("round %d: a start whose code takes %v came without its first turn", i, took)
				}
			}
		}
	})
}

// A machine that stops for a moment stops all first turns that run. They count as one.
func TestEagerStart_TurnsStoppedTogetherCountOnce(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		s := newSlowly(e)
		for range 3 {
			s.took = 50 * time.Millisecond
			var starts sync.WaitGroup
			for range 8 {
				starts.Go(func() { begin(e, s.c, "slow") })
			}
			starts.Wait()
			if _, with := s.start(time.Millisecond); !with {
				e.T.Error("after turns that were stopped together a start came without its first turn")
			}
		}
	})
}

// However slow the first turns were, starts try again after ten seconds.
func TestEagerStart_SlowCodeIsTriedAgain(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		s := newSlowly(e)
		for range 2 {
			s.start(1500 * time.Millisecond)
		}
		if _, with := s.start(time.Millisecond); with {
			e.T.Error("after two slow turns a start came with its first turn")
		}
		time.Sleep(10 * time.Second) //nolint:forbidigo // virtual time
		if _, with := s.start(time.Millisecond); !with {
			e.T.Error("after ten seconds a start came without its first turn")
		}
	})
}
