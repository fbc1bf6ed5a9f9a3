package dispatcher_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/enginetest"
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

// An eviction whose deferred functions do not return is counted after the deadlock limit;
// its instance, all others and the node go on without it.
func TestHazard08_SlowEvictionIsLeftBehind(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{CacheBytes: 1}, func(e *enginetest.Engine) {
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

// One that returns late, but before the node stops, is no leak.
func TestHazard08_SlowEvictionThatReturns(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{CacheBytes: 1}, func(e *enginetest.Engine) {
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
