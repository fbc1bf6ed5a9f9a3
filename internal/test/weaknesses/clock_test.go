package weaknesses

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// shifted is the correct clock of a storage on another host. The clocks of the nodes are wrong by the opposite.
type shifted struct{ by atomic.Int64 }

// Now implements memory.Source.
func (s *shifted) Now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

// Timer implements memory.Source.
func (s *shifted) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Clocks of nodes do not matter: they may be off by hours, and the storage's own may jump. Timers fire when they are
// due, running work is not given to a second node, and the code's clock never goes back. SQLite runs inside of the
// measured process; its own tests cover its clocks.
func TestWeakness13_ClocksOfNodesDoNotCount(t *testing.T) {
	t.Parallel()
	all := map[string]func(e *engine, storage *shifted){
		"timers": timersByStorage, "leases": leasesByStorage, "a node is lost": lostNode, "sleeping until an instant": sleepUntil,
	}
	for name, claim := range all {
		for _, by := range []time.Duration{-26 * time.Hour, -time.Minute, 5 * time.Hour} {
			t.Run(fmt.Sprintf("%s, off by %v", name, -by), func(t *testing.T) {
				t.Parallel()
				shiftedStorage(t, by, claim)
			})
		}
	}
	t.Run("the storage's clock jumps", func(t *testing.T) { shiftedStorage(t, 0, jumps) })
}

func shiftedStorage(t *testing.T, by time.Duration, claim func(e *engine, storage *shifted)) {
	t.Helper()
	for name, opts := range map[string]runtime.Options{"cached": {}, "uncached": {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := &shifted{}
				storage.by.Store(int64(by))
				e := enginetest.On(t, memory.New(memory.Options{Clock: storage}), opts)
				e.Virtual = true
				claim(e, storage)
			})
		})
	}
}

// seen holds the times that the code saw.
type seen struct{ Began, Slept, Worked time.Time }

// timersByStorage sleeps for an hour, which must take an hour, and reads the storage's time.
func timersByStorage(e *engine, storage *shifted) {
	began := time.Now()
	key := start(e, registry(e), func(ctx *octx, _ none) (seen, error) {
		s := seen{Began: ctx.Now()}
		if err := ctx.Sleep(time.Hour); err != nil {
			return s, err
		}
		s.Slept = ctx.Now()
		_, err := orchestration.CallActivity(ctx, Double, 1)
		s.Worked = ctx.Now()
		return s, err
	}, none{})
	got := enginetest.Output[seen](e, key)
	if took := time.Since(began); took < time.Hour || took > time.Hour+time.Second {
		e.T.Errorf("the hour took %v", took)
	}
	right := began.Add(time.Duration(storage.by.Load())).UTC()
	if !got.Began.Equal(right) || got.Slept.Before(right.Add(time.Hour)) || got.Slept.After(right.Add(time.Hour+time.Second)) || got.Worked.Before(got.Slept) {
		e.T.Errorf("code saw %+v, the storage had %v", got, right)
	}
}

// leasesByStorage runs an activity for many leases while a second node waits for its task. Some of the renewals fail.
func leasesByStorage(e *engine, _ *shifted) {
	var runs atomic.Int64
	reg := registry(e)
	enginetest.Activity(e.T, reg, "work", func(ctx context.Context, n int) (int, error) {
		runs.Add(1)
		select {
		case <-time.After(10 * time.Minute):
			return n, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	})
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (int, error) {
		return orchestration.CallActivityNamed[int](ctx, "work", n)
	})
	plan, node := faultyNode(e)
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Before, Every: 3})
	one, two := e.StartOn(node, reg, e.Options), e.StartOn(node, reg, e.Options)
	want(e, e.Create("main", "main", 7), 7)
	if lost := one.Stats().LeasesLost + two.Stats().LeasesLost; runs.Load() != 1 || lost != 0 {
		e.T.Errorf("%d runs, %d leases lost", runs.Load(), lost)
	}
}

// lostNode cuts off the node that runs an activity. Another node has the work after one lease.
func lostNode(e *engine, _ *shifted) {
	began := time.Now()
	cutOff(e)
	if took := time.Since(began); took > 10*time.Minute {
		e.T.Errorf("took %v", took)
	}
}

// sleepUntil sleeps until an instant, which has passed afterwards on every node.
func sleepUntil(e *engine, _ *shifted) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
		instant := ctx.Now().Add(90 * time.Minute)
		rounds := 0
		for ctx.Now().Before(instant) && rounds < 100 {
			if err := ctx.Sleep(instant.Sub(ctx.Now())); err != nil {
				return 0, err
			}
			rounds++
		}
		return rounds, nil
	})
	first := e.Start(reg)
	key := e.Create("main", "main", none{})
	until(e, "it sleeps", func() bool { return e.Get(key).HistoryLength == 2 })
	e.Stop(first)
	e.Start(reg)
	want(e, key, 1)
}

// jumps moves the storage's clock. Forward, all leases expire at once. Back, the code's time stands still until the
// clock has caught up. Nothing runs twice and nothing is lost.
func jumps(e *engine, storage *shifted) {
	rt := e.Start(mixedRegistry(e))
	var keys []provider.UUID
	for i := range 5 {
		keys = append(keys, e.Create(fmt.Sprint("mixed ", i), "mixed", i+1))
	}
	for _, by := range []time.Duration{time.Hour, 3 * time.Hour, 3*time.Hour - time.Minute, 5 * time.Hour} {
		pass(e, 3*time.Second)
		storage.by.Store(int64(by))
	}
	for i, key := range keys {
		want(e, key, 2*(i+1)*(i+1))
		last := provider.Time(0)
		for _, event := range e.History(key, 1) {
			if !event.Body.Kind().IsMessage() {
				continue
			}
			if at := provider.Time(event.At); at < last {
				e.T.Errorf("event %d is of %v, after one of %v", event.ID, at.Std(), last.Std())
			} else {
				last = at
			}
		}
	}
	if s := rt.Stats(); s.TurnsFailed+s.AttemptsFailed != 0 {
		e.T.Errorf("%+v", s)
	}
}
