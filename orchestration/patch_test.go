package orchestration_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// oldStep and newStep are the sides of a change.
func oldStep(ctx *octx) (int, error) { return orchestration.CallActivity(ctx, Double, 1) }

func newStep(ctx *octx) (int, error) {
	if err := ctx.Sleep(time.Millisecond); err != nil {
		return 0, err
	}
	return orchestration.CallActivity(ctx, Double, 10)
}

// step is a release of the code: it takes one of the sides.
type step func(ctx *octx) (int, error)

func eitherStep(ctx *octx) (int, error) {
	if ctx.Patched("change") {
		return newStep(ctx)
	}
	return oldStep(ctx)
}

func deprecatedStep(ctx *octx) (int, error) {
	ctx.DeprecatePatch("change")
	return newStep(ctx)
}

// release registers as "main" an orchestration that does a step, waits for an event, and does the step again.
func release(e *enginetest.Engine, do step) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) ([]int, error) {
		first, err := do(ctx)
		if err != nil {
			return nil, err
		}
		_, received := orchestration.Events[int](ctx, "go").Receive(ctx)
		second, err := do(ctx)
		return []int{first, second}, errors.Join(received, err)
	})
	return reg
}

// hasDone reports whether the activity of the first step has completed.
func hasDone(e *enginetest.Engine, key provider.UUID) bool {
	return e.Get(key).HistoryLength > 0 && strings.HasSuffix(kinds(e.History(key, 1)), "ActivityCompleted")
}

// waitsAfter starts "main" on a node with a release, and stops the node when the instance waits for its event.
func waitsAfter(e *enginetest.Engine, do step) provider.UUID {
	e.T.Helper()
	rt := e.Start(release(e, do))
	h, err := client.StartNamed[[]int](e.T.Context(), e.Client(client.Options{}), "main", none{})
	if err != nil {
		e.T.Fatal(err)
	}
	e.Until("the first step is done", func() bool { return hasDone(e, h.Key()) })
	e.Stop(rt)
	return h.Key()
}

// Instances keep the side that they began with, over each deploy: before the change, with both sides, without the old one
// and without the patch.
func TestInstancesKeepTheirSideOfAPatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		first, second step
		want          []int
	}{
		"begun before the change":  {oldStep, eitherStep, []int{2, 2}},
		"begun after the change":   {eitherStep, eitherStep, []int{20, 20}},
		"then deprecated":          {eitherStep, deprecatedStep, []int{20, 20}},
		"begun deprecated":         {deprecatedStep, eitherStep, []int{20, 20}},
		"then removed":             {deprecatedStep, newStep, []int{20, 20}},
		"removed without a marker": {newStep, newStep, []int{20, 20}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryStore(t, func(e *enginetest.Engine) {
				key := waitsAfter(e, c.first)
				e.Start(release(e, c.second))
				e.Raise(key, "go", 1)
				if got := enginetest.Output[[]int](e, key); !slices.Equal(got, c.want) {
					e.T.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

// The next execution asks afresh.
func TestPatchesBeginAfreshWithContinueAsNew(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		code := func(patched bool) *runtime.Registry {
			reg := registry(e.T)
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, sides []string) ([]string, error) {
				sides = append(sides, fmt.Sprint(patched && ctx.Patched("change")))
				if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil || len(sides) == 2 {
					return sides, err
				}
				return nil, fmt.Errorf("next: %w", orchestration.ContinueAsNew(ctx, sides))
			})
			return reg
		}
		rt := e.Start(code(false))
		key := e.Create("main", "main", []string{})
		e.Until("it waits", func() bool { return e.Get(key).HistoryLength > 0 })
		e.Stop(rt)
		e.Start(code(true))
		e.Raise(key, "go", 1)
		e.Until("it continues", func() bool { return e.Get(key).Execution == 2 })
		e.Raise(key, "go", 2)
		if got := enginetest.Output[[]string](e, key); !slices.Equal(got, []string{"false", "true"}) {
			e.T.Errorf("the executions took %v", got)
		}
	})
}

// An ID that no history can hold fails the turn.
func TestPatchWithABadID(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx *octx){
		"empty":      func(ctx *octx) { ctx.Patched("") },
		"long":       func(ctx *octx) { ctx.Patched(strings.Repeat("x", provider.MaxName+1)) },
		"no text":    func(ctx *octx) { ctx.Patched("\xff") },
		"deprecated": func(ctx *octx) { ctx.DeprecatePatch("") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				e.Start(broken(e, func(ctx *octx, _ none) (string, error) { call(ctx); return "done", nil }))
				if b := e.WaitBlocked(e.Create("main", "main", none{}), 1).Blocked; b.Reason != "failed" || !strings.Contains(b.Message, "patch") {
					e.T.Errorf("%+v", b)
				}
			})
		})
	}
}

// During a deploy a node with older code gives back an instance that newer code has patched. It counts no failure, and
// the newer code goes on.
func TestHazard79_OlderCodeGivesBack(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		key := waitsAfter(e, eitherStep)
		older := e.Start(release(e, oldStep))
		e.Raise(key, "go", 1)
		e.Until("the older code has tried", func() bool { return older.Stats().ColdReplays >= 2 })
		if i := e.Get(key); i.Blocked != nil || older.Stats().TurnsFailed > 0 {
			e.T.Errorf("blocked %+v, %d failed turns", i.Blocked, older.Stats().TurnsFailed)
		}
		e.Stop(older)
		e.Start(release(e, eitherStep))
		if got := enginetest.Output[[]int](e, key); !slices.Equal(got, []int{20, 20}) {
			e.T.Errorf("got %v", got)
		}
	})
}

// Ten minutes after the last commit the instance is blocked as for any other deviation. The message names the patch.
func TestHazard79_BlockedAfterTenMinutes(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := waitsAfter(e, eitherStep)
		last := e.Get(key).UpdatedAt.Std()
		e.Start(release(e, oldStep))
		e.Raise(key, "go", 1)
		b := e.WaitBlocked(key, 1).Blocked
		if after := b.Since.Std().Sub(last); after < 10*time.Minute || after > 11*time.Minute {
			e.T.Errorf("blocked after %v", after)
		}
		if b.Reason != "nondeterminism" || !strings.Contains(b.Message, `patch "change", which this code does not know`) {
			e.T.Errorf("%+v", b)
		}
	})
}

// Code that knows all patches of the history is blocked at once.
func TestHazard79_CodeThatKnowsThePatchIsBlocked(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := waitsAfter(e, eitherStep)
		last := e.Get(key).UpdatedAt.Std()
		e.Start(release(e, func(ctx *octx) (int, error) { ctx.DeprecatePatch("change"); return oldStep(ctx) }))
		e.Raise(key, "go", 1)
		if b := e.WaitBlocked(key, 1).Blocked; b.Since.Std().Sub(last) > time.Minute || b.Reason != "nondeterminism" {
			e.T.Errorf("%+v", b)
		}
	})
}
