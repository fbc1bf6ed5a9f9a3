package routing

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// flood starts orchestrations with many calls of "work", on a node that makes turns only.
func flood(e *engine, instances, calls int, opts ...orchestration.ActivityOption) {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "flood", func(ctx *octx, n int) (none, error) {
		all := make([]orchestration.Future[int], n)
		for i := range all {
			all[i] = orchestration.StartActivityNamed[int](ctx, "work", i, opts...)
		}
		for _, f := range all {
			if _, err := f.Get(ctx); err != nil {
				return none{}, err
			}
		}
		return none{}, nil
	})
	e.StartOn(e.Store, reg, runtime.Options{})
	for i := range instances {
		e.Create(fmt.Sprintf("flood-%d", i), "flood", calls)
	}
}

// starts records when activities began.
type starts struct {
	enginetest.Notes[time.Time]

	running, most atomic.Int64
}

func (s *starts) work(d time.Duration) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		s.Add(time.Now())
		s.most.Store(max(s.most.Load(), s.running.Add(1)))
		defer s.running.Add(-1)
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return n, ctx.Err()
	}
}

// perSecond returns the rate of the starts within a span from the first one on.
func (s *starts) perSecond(span time.Duration) float64 {
	all := s.All()
	n := 0
	for _, at := range all {
		if at.Sub(all[0]) < span {
			n++
		}
	}
	return float64(n) / span.Seconds()
}

// lowest returns the lowest rate that a test accepts. A machine may be busy where time is real.
func lowest(e *engine, rate float64) float64 {
	if e.Virtual {
		return rate
	}
	return rate / 3
}

// Two nodes with a queue limit of 50 a second begin 45 to 55 a second together.
func TestQueueRateAcrossNodes(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	everyStore(t, runtime.Options{QueueLimits: limit(runtime.QueueLimit{PerSecond: 50})}, func(e *engine) {
		span := 3 * time.Second
		if e.Virtual {
			span = 20 * time.Second
		}
		var all starts
		shares := [2]*runtime.Runtime{}
		for i := range shares {
			reg := runtime.NewRegistry()
			enginetest.Activity(e.T, reg, "work", all.work(time.Millisecond))
			shares[i] = e.Start(reg)
		}
		flood(e, 1, int(span.Seconds()*60)) // when both are there: the first must not do it all
		enough := int(span.Seconds() * 50)
		e.Until("enough have begun", func() bool { return len(all.All()) > enough })
		if got := all.perSecond(span); got < lowest(e, 45) || got > 55 {
			e.T.Errorf("%.1f a second", got)
		}
		for _, rt := range shares {
			if n := rt.Stats().AttemptsCompleted; n < int64(enough)/10 {
				e.T.Errorf("one node did %d of %d", n, enough)
			}
		}
	})
}

// A slow rate is kept as well: tasks that are fetched too early wait in the store.
func TestSlowQueueRate(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{QueueLimits: limit(runtime.QueueLimit{PerSecond: 0.1})}, func(e *engine) {
		var all starts
		flood(e, 1, 30)
		for range 3 {
			reg := runtime.NewRegistry()
			enginetest.Activity(e.T, reg, "work", all.work(time.Second))
			e.Start(reg)
		}
		rest(205 * time.Second)
		began := all.All()
		if len(began) < 20 || len(began) > 22 {
			e.T.Errorf("%d began in 205 s at one in 10 s", len(began))
		}
		for i := 1; i < len(began); i++ {
			if gap := began[i].Sub(began[i-1]); gap < 9900*time.Millisecond || gap > 11*time.Second {
				e.T.Errorf("number %d began %v after the one before", i+1, gap)
			}
		}
	})
}

// A node's limit bounds all that it begins, across its queues. Other nodes do not count.
func TestNodeRate(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{ActivitiesPerSecond: 40}, func(e *engine) {
		span := 2 * time.Second
		var all starts
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "work", all.work(time.Millisecond))
		flood(e, 1, 150)
		e.Start(reg)
		e.Until("enough have begun", func() bool { return len(all.All()) > 80 })
		if got := all.perSecond(span); got < lowest(e, 36) || got > 46 {
			e.T.Errorf("%.1f a second", got)
		}
	})
}

// All nodes together never run more calls at a time than the queue allows, and never fewer while others wait.
func TestQueueConcurrencyAcrossNodes(t *testing.T) {
	t.Parallel()
	everyStore(t, runtime.Options{QueueLimits: limit(runtime.QueueLimit{MaxConcurrent: 3})}, func(e *engine) {
		var all starts
		flood(e, 2, 30)
		for range 2 {
			reg := runtime.NewRegistry()
			enginetest.Activity(e.T, reg, "work", all.work(unit(e)/10))
			e.Start(reg)
		}
		began := time.Now()
		e.Until("all have begun", func() bool { return len(all.All()) == 60 })
		if most := all.most.Load(); most != 3 {
			e.T.Errorf("%d ran at the same time", most)
		}
		if took, ideal := time.Since(began), 20*unit(e)/10; took > 10*ideal+late(e) {
			e.T.Errorf("took %v, without pauses it is %v", took, ideal)
		}
	})
}
