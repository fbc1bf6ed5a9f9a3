package dispatcher_test

import (
	"bytes"
	"context"
	goruntime "runtime"
	"runtime/pprof"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure/internal/platform/goroutine"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// goroutinesOf returns on how many goroutines the activities of a chain of ten ran. Each calls spoil.
func goroutinesOf(t *testing.T, spoil func()) (n int) {
	t.Helper()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var ran enginetest.Notes[uint64]
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "step", func(context.Context, none) (none, error) {
			ran.Add(goroutine.ID())
			spoil()
			return none{}, nil
		})
		enginetest.Orchestration(e.T, reg, "steps", func(ctx *octx, _ none) (int, error) {
			for range 10 {
				_, _ = orchestration.CallActivityNamed[none](ctx, "step", none{}) // it may fail
			}
			return 10, nil
		})
		e.StartOn(e.Store, reg, e.Options)
		synctest.Wait() // until the node is parked in its fetches
		if got := enginetest.Output[int](e, e.Create("steps", "steps", none{})); got != 10 {
			e.T.Errorf("got %d", got)
		}
		seen := make(map[uint64]bool)
		for _, id := range ran.All() {
			seen[id] = true
		}
		n = len(seen)
		if len(ran.All()) != 10 {
			e.T.Errorf("%d activities ran", len(ran.All()))
		}
	})
	return n
}

// A chain stays on the goroutine of its first turn, unless code ends that goroutine or locks it to its thread.
func TestChainStaysOnOneGoroutine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func()
		want  int
	}{
		{"code that returns", func() {}, 1},
		{"code that calls Goexit", goruntime.Goexit, 10},
		{"code that locks its thread", goruntime.LockOSThread, 10},
		{"code that locks and unlocks it", func() { goruntime.LockOSThread(); goruntime.UnlockOSThread() }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := goroutinesOf(t, c.spoil); got != c.want {
				t.Errorf("%d goroutines, want %d", got, c.want)
			}
		})
	}
}

// The labels that an activity sets on its goroutine do not apply to later code on it.
func TestLabelsOfAnActivityEndWithIt(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const label = "of-the-first-step-only"
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "labels", func(ctx context.Context, n int) (bool, error) {
			var profile bytes.Buffer
			if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
				return false, err
			}
			if n == 0 {
				pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels(label, "yes")))
			}
			return bytes.Contains(profile.Bytes(), []byte(label)), nil
		})
		enginetest.Orchestration(e.T, reg, "labelled", func(ctx *octx, _ none) (bool, error) {
			if _, err := orchestration.CallActivityNamed[bool](ctx, "labels", 0); err != nil {
				return false, err
			}
			return orchestration.CallActivityNamed[bool](ctx, "labels", 1)
		})
		e.Start(reg)
		if enginetest.Output[bool](e, e.Create("labelled", "labelled", none{})) {
			e.T.Error("the second activity has the label of the first one")
		}
	})
}
