package heartbeats

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

// busy sends a heartbeat every 10 ms for a time, with the elapsed milliseconds.
func busy(d time.Duration) func(context.Context, int) (int, error) {
	return func(ctx context.Context, _ int) (int, error) {
		begun := time.Now()
		for time.Since(begun) < d {
			if err := activity.Heartbeat(ctx, time.Since(begun).Milliseconds()); err != nil {
				return 0, err
			}
			if err := await(ctx, 10*time.Millisecond); err != nil {
				return 0, err
			}
		}
		return 1, nil
	}
}

// Details from a tight loop are stored at the pace of the throttle, neither sooner nor later. The first is stored at
// once, and then always the latest.
func TestHeartbeating_TightLoopsAreThrottled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts    runtime.Options
		timeout time.Duration
		want    time.Duration
	}{
		"80 % of the timeout":     {runtime.Options{}, 10 * time.Second, 8 * time.Second},
		"a short timeout":         {runtime.Options{}, 200 * time.Millisecond, 160 * time.Millisecond},
		"no timeout":              {runtime.Options{}, 0, 30 * time.Second},
		"the longest":             {runtime.Options{}, 10 * time.Minute, time.Minute},
		"a default of its own":    {runtime.Options{Heartbeats: runtime.HeartbeatOptions{DefaultThrottle: 2 * time.Second}}, 0, 2 * time.Second},
		"a longest of its own":    {runtime.Options{Heartbeats: runtime.HeartbeatOptions{MaxThrottle: time.Second}}, time.Minute, time.Second},
		"the longest for default": {runtime.Options{Heartbeats: runtime.HeartbeatOptions{DefaultThrottle: time.Hour}}, 0, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, c.opts, func(e *engine) {
				store := &renewals{Full: e.Store}
				e.StartOn(store, registry(e, busy(5*c.want), nil, orchestration.WithHeartbeatTimeout(c.timeout)), e.Options)
				begun := time.Now()
				enginetest.Output[int](e, e.Create("main", "main", 1))
				checkPace(e, store.withDetails(), begun, c.want)
			})
		})
	}
}

func checkPace(e *engine, sent []renewal, begun time.Time, want time.Duration) {
	e.T.Helper()
	const pause = 40 * time.Millisecond // between batches and between heartbeats
	if len(sent) < 5 || sent[0].at.Sub(begun) > pause {
		e.T.Fatalf("sent %v since %v", sent, begun)
	}
	for i, one := range sent {
		ms, err := strconv.Atoi(one.details)
		if beat := begun.Add(time.Duration(ms) * time.Millisecond); err != nil || one.at.Sub(beat) > pause {
			e.T.Errorf("at %v it sent %q, %v", one.at.Sub(begun), one.details, err)
		}
		if i == 0 {
			continue
		}
		if gap := one.at.Sub(sent[i-1].at); gap < want || gap > want+pause {
			e.T.Errorf("sent after %v, want %v", gap, want)
		}
	}
}

// The last of several details is stored when it is due, although no heartbeat follows.
func TestHeartbeating_LastOfABurstIsStored(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Heartbeats: runtime.HeartbeatOptions{DefaultThrottle: 25 * time.Second}}, func(e *engine) {
		store := &renewals{Full: e.Store}
		e.StartOn(store, registry(e, func(ctx context.Context, _ int) (int, error) {
			for i := range 100 {
				_ = activity.Heartbeat(ctx, i)
				_ = await(ctx, time.Millisecond)
			}
			return 1, await(ctx, time.Minute)
		}, nil), e.Options)
		begun := time.Now()
		enginetest.Output[int](e, e.Create("main", "main", 1))
		sent := store.withDetails()
		if len(sent) != 2 || sent[1].details != "99" || sent[1].at.Sub(begun) < 25*time.Second || sent[1].at.Sub(begun) > 25100*time.Millisecond {
			e.T.Errorf("sent %v since %v", sent, begun)
		}
	})
}

// Attempts without heartbeats cost nothing: one renewal per third of a lease, without details.
func TestHeartbeating_WhoDoesNotBeatCostsNothing(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		store := &renewals{Full: e.Store}
		e.StartOn(store, registry(e, func(ctx context.Context, _ int) (int, error) { return 1, await(ctx, 65*time.Second) }, nil), e.Options)
		enginetest.Output[int](e, e.Create("main", "main", 1))
		if list := store.list(); len(list) != 6 || len(store.withDetails()) != 0 {
			e.T.Errorf("renewed %v", list)
		}
	})
}

// The heartbeats of a thousand attempts at the same time go in batches.
func TestHeartbeating_BeatsGoTogether(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{MaxConcurrentActivities: 1000}, func(e *engine) {
		store := &renewals{Full: e.Store}
		reg := registry(e, func(ctx context.Context, n int) (int, error) {
			if err := await(ctx, time.Minute); err != nil {
				return 0, err
			}
			if err := activity.Heartbeat(ctx, n); err != nil {
				return 0, err
			}
			return n, await(ctx, 29*time.Second)
		}, nil)
		enginetest.Orchestration(e.T, reg, "many", func(ctx *octx, n int) (int, error) {
			var all []orchestration.Future[int]
			for i := range n {
				all = append(all, orchestration.StartActivityNamed[int](ctx, "work", i))
			}
			done, err := orchestration.All(ctx, all...)
			return len(done), err
		})
		e.StartOn(store, reg, e.Options)
		key := e.Create("many", "many", 1000)
		if got := enginetest.Output[int](e, key); got != 1000 {
			e.T.Errorf("%d ended", got)
		}
		sent := store.withDetails()
		at := map[time.Time]int{}
		for _, one := range sent {
			at[one.at]++
		}
		if len(sent) != 1000 || len(at) > 3 {
			e.T.Errorf("%d details in %d batches: %v", len(sent), len(at), at)
		}
	})
}

// A heartbeat never waits for the store.
func TestHeartbeating_NeverBlocks(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *engine) {
		plan := faulty.NewPlan(1)
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.RenewTasks}, Kind: faulty.Delay, Delay: 9 * time.Second})
		e.StartOn(faulty.Wrap(e.Store, plan), registry(e, func(ctx context.Context, _ int) (int, error) {
			for i := range 10_000 {
				before := time.Now()
				if err := activity.Heartbeat(ctx, i); err != nil {
					return 0, err
				}
				if took := time.Since(before); took > 0 {
					return 0, fmt.Errorf("beat %d took %v", i, took)
				}
				if err := await(ctx, time.Millisecond); err != nil {
					return 0, err
				}
			}
			return 1, nil
		}, nil, orchestration.WithHeartbeatTimeout(time.Second)), e.Options)
		enginetest.Output[int](e, e.Create("main", "main", 1))
	})
}
