package orchestration_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// wrongClock is a storage's clock that differs from the nodes' and can jump.
type wrongClock struct{ offset atomic.Int64 }

func (c *wrongClock) jump(d time.Duration) { c.offset.Add(int64(d)) }

func (c *wrongClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *wrongClock) Timer(d time.Duration) (fired <-chan time.Time, stop func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// withClock runs a test in virtual time on a store whose clock is off from the nodes'.
func withClock(t *testing.T, offset time.Duration, test func(e *enginetest.Engine, clock *wrongClock)) {
	t.Helper()
	for name, opts := range map[string]runtime.Options{"cached": {}, "uncached": {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, opts, func(bubble *enginetest.Engine) {
				clock := &wrongClock{}
				clock.jump(offset)
				e := enginetest.On(bubble.T, memory.New(memory.Options{Clock: clock}), opts)
				e.Virtual = true
				test(e, clock)
			})
		})
	}
}

// timersKeepTime checks that each timer is due its duration after the message that asked
// for it, and has fired no earlier.
func timersKeepTime(e *enginetest.Engine, key provider.UUID) {
	e.T.Helper()
	due, now := map[int64]int64{}, int64(0)
	for _, event := range e.History(key, 1) {
		if event.Body.Kind().IsMessage() && event.At < now {
			e.T.Errorf("event %d is of %d, after one of %d", event.ID, event.At, now)
		}
		now = max(now, event.At)
		switch b := event.Body.(type) {
		case *history.TimerCreated:
			if due[event.ID] = b.Due; b.Due != now+b.Duration {
				e.T.Errorf("timer %d is due at %d, want %d after %d", event.ID, b.Due, b.Duration, now)
			}
		case *history.TimerFired:
			if event.At < due[b.Timer] {
				e.T.Errorf("timer %d fired at %d, due at %d", b.Timer, event.At, due[b.Timer])
			}
		}
	}
}

// A node that is hours ahead of the storage, or behind, neither waits hours nor fires at
// once: Now and timers are of the storage's clock, in fetched and in fast turns.
func TestHazard25_NodesClockNeverCounts(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{"node ahead": -10 * time.Hour, "node behind": 10 * time.Hour, "equal": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withClock(t, offset, func(e *enginetest.Engine, clock *wrongClock) {
				key := start(e, registry(e.T), func(ctx *octx, _ none) ([]time.Time, error) {
					seen := []time.Time{ctx.Now()}
					for range 3 {
						if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
							return nil, err
						}
						if err := ctx.Sleep(time.Minute); err != nil {
							return nil, err
						}
						seen = append(seen, ctx.Now())
					}
					return seen, nil
				}, none{})
				began, here := clock.Now(), time.Now()
				seen := enginetest.Output[[]time.Time](e, key)
				for i, now := range seen {
					if late := now.Sub(began.Add(time.Duration(i) * time.Minute)); late < -time.Second || late > time.Second {
						e.T.Errorf("after %d timers Now is %v, off by %v", i, now, late)
					}
				}
				if took := time.Since(here); took > 4*time.Minute {
					e.T.Errorf("three minutes took %v", took)
				}
				timersKeepTime(e, key)
			})
		})
	}
}

// Code that sleeps until a moment and then looks at Now finds that it has come. This also
// holds when another node continues and the storage's clock has jumped meanwhile.
func TestHazard25_SleepUntilHasCome(t *testing.T) {
	t.Parallel()
	for name, jump := range map[string]time.Duration{"no jump": 0, "forward": 20 * time.Minute, "back": -20 * time.Minute, "far ahead": 5 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withClock(t, time.Hour, func(e *enginetest.Engine, clock *wrongClock) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
					until := ctx.Now().Add(time.Hour + time.Nanosecond)
					for rounds := 1; ; rounds++ {
						if err := ctx.Sleep(until.Sub(ctx.Now())); err != nil {
							return 0, err
						}
						if !ctx.Now().Before(until) || rounds == 10 {
							return rounds, nil
						}
					}
				})
				first := e.Start(reg)
				key := e.Create("main", "main", none{})
				e.Until("it sleeps", func() bool { return e.Get(key).HistoryLength == 2 })
				e.Stop(first)
				clock.jump(jump)
				e.Start(reg)
				if rounds := enginetest.Output[int](e, key); rounds != 1 {
					e.T.Errorf("slept %d times", rounds)
				}
				timersKeepTime(e, key)
			})
		})
	}
}

// behind is a storage as it looks after a fail-over to a machine whose clock is behind.
type behind struct {
	*provider.Full

	by time.Duration
}

func (b behind) at(t provider.Time) provider.Time {
	if t == 0 {
		return 0
	}
	return t.Add(-b.by)
}

func (b behind) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	res, err := b.Full.FetchTurns(ctx, req)
	res.Now = b.at(res.Now)
	for _, turn := range res.Turns {
		for i := range turn.Messages {
			turn.Messages[i].VisibleAt = b.at(turn.Messages[i].VisibleAt)
		}
	}
	return res, err
}

func (b behind) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	res, err := b.Full.CommitTurn(ctx, req)
	res.Now, res.ReadyAt = b.at(res.Now), b.at(res.ReadyAt)
	return res, err
}

// The node learns the storage's time from these calls, too.

func (b behind) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	res, err := b.Full.Create(ctx, req)
	res.Now = b.at(res.Now)
	return res, err
}

func (b behind) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	res, err := b.Full.FetchTasks(ctx, req)
	res.Now = b.at(res.Now)
	return res, err
}

func (b behind) RenewTasks(ctx context.Context, req provider.RenewTasksRequest) (provider.RenewTasksResult, error) {
	res, err := b.Full.RenewTasks(ctx, req)
	res.Now = b.at(res.Now)
	return res, err
}

func (b behind) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	res, err := b.Full.Record(ctx, req)
	res.Now = b.at(res.Now)
	return res, err
}

// After a fail-over to a storage whose clock is behind, Now stands still until that has
// caught up; it never goes back.
func TestHazard25_NowNeverFallsBackOnFailOver(t *testing.T) {
	t.Parallel()
	withClock(t, 0, func(e *enginetest.Engine, _ *wrongClock) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) ([]time.Time, error) {
			var seen []time.Time
			for range 4 {
				seen = append(seen, ctx.Now())
				if _, err := orchestration.Events[none](ctx, "box").Receive(ctx); err != nil {
					return nil, err
				}
			}
			return append(seen, ctx.Now()), nil
		})
		first := e.Start(reg)
		key := e.Create("main", "main", none{})
		e.Raise(key, "box", none{})
		e.Until("it has read the first", func() bool { return e.Get(key).HistoryLength == 2 })
		e.Stop(first)
		e.StartOn(behind{e.Store, time.Hour}, reg, e.Options)
		for range 3 {
			e.Raise(key, "box", none{})
		}
		seen := enginetest.Output[[]time.Time](e, key)
		for i := 1; i < len(seen); i++ {
			if seen[i].Before(seen[i-1]) {
				e.T.Errorf("Now went back from %v to %v", seen[i-1], seen[i])
			}
		}
		timersKeepTime(e, key)
	})
}
