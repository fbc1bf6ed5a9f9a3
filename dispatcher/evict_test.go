package dispatcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// blocker is code whose deferred function blocks when it is unwound, and only then.
func blocker(block <-chan struct{}) func(*octx, none) (none, error) {
	return func(ctx *octx, _ none) (none, error) {
		returned := false
		defer func() {
			if !returned {
				<-block
			}
		}()
		_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
		returned = true
		return none{}, err
	}
}

// An eviction whose deferred functions do not return is counted after the deadlock limit. Its instance, all others and
// the node continue without it.
func TestHazard08_SlowEvictionIsLeftBehind(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}, func(e *enginetest.Engine) {
		block := make(chan struct{})
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "block", blocker(block))
		rt, err := runtime.Start(e.T.Context(), e.Store, reg, e.Options)
		if err != nil {
			e.T.Fatal(err)
		}
		key := e.Create("block", "block", none{})
		began := time.Now()
		e.Until("the eviction is given up", func() bool { return rt.Stats().EvictionsStuck == 1 })
		if took := time.Since(began); took < 2*time.Second || took > 4*time.Second {
			e.T.Errorf("given up after %v", took)
		}
		enginetest.Output[int](e, e.Create("chain", "Chain", 3))
		e.Raise(key, "end", none{})
		enginetest.Output[none](e, key)
		ctx, cancel := context.WithTimeout(e.T.Context(), 30*time.Second)
		defer cancel()
		if err := rt.Shutdown(ctx); !errors.Is(err, dispatcher.ErrLeaked) {
			e.T.Errorf("shutdown answered %v", err)
		}
		close(block)
	})
}

// That holds, too, for what an execution has left parked when it ended.
func TestHazard08_SlowRestOfAnEndedExecution(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		block := make(chan struct{})
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "end", func(ctx *octx, _ none) (none, error) {
			rest := blocker(block)
			ctx.Go(func(ctx *octx) error { _, err := rest(ctx, none{}); return err })
			return none{}, ctx.Sleep(time.Second)
		})
		rt := e.Start(reg)
		enginetest.Output[none](e, e.Create("end", "end", none{}))
		e.Until("the eviction is given up", func() bool { return rt.Stats().EvictionsStuck == 1 })
		close(block)
	})
}

// One that returns late, but before the node stops, is no leak.
func TestHazard08_SlowEvictionThatReturns(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Bytes: 1}}, func(e *enginetest.Engine) {
		block := make(chan struct{})
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "block", blocker(block))
		rt := e.Start(reg) // whose shutdown fails the test if something is left
		key := e.Create("block", "block", none{})
		e.Until("the eviction is given up", func() bool { return rt.Stats().EvictionsStuck == 1 })
		close(block)
		e.Raise(key, "end", none{})
		enginetest.Output[none](e, key)
	})
}

// Executions that wait for long leave the memory after a while, unless what they wait for is an activity; their next turn replays.
func TestIdleExecutionsLeaveTheMemory(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{Cache: runtime.CacheOptions{Idle: time.Minute}}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "long", func(context.Context, none) (none, error) {
			time.Sleep(time.Hour) //nolint:forbidigo // virtual time
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "works", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivityNamed[none](ctx, "long", none{})
		})
		enginetest.Orchestration(e.T, reg, "sleeps", func(ctx *octx, _ none) (none, error) { return none{}, ctx.Sleep(time.Hour) })
		rt := e.Start(reg)
		works, sleeps := e.Create("works", "works", none{}), e.Create("sleeps", "sleeps", none{})
		for _, at := range []struct {
			after time.Duration
			want  int64
		}{{59 * time.Second, 2}, {17 * time.Second, 1}, {30 * time.Minute, 1}} {
			time.Sleep(at.after) //nolint:forbidigo // virtual time
			if n := rt.Stats().Cached; n != at.want {
				e.T.Errorf("after %v more %d executions are in memory, want %d", at.after, n, at.want)
			}
		}
		enginetest.Output[none](e, works)
		enginetest.Output[none](e, sleeps)
		if n := rt.Stats().ColdReplays; n != 1 {
			e.T.Errorf("%d executions were replayed, want the one that had slept", n)
		}
	})
}
