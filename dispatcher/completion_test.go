package dispatcher_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// A completion whose outcome nobody knows is asked for again: stored or not, its effect counts once. The effect is an instance.
func TestEffectOfAnUnknownCompletionCountsOnce(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]faulty.Kind{"nothing": faulty.Before, "stored": faulty.After} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
				plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.CompleteIn}, First: 2, Kind: kind})
				var bodies, functions enginetest.Notes[int]
				reg := single(e, func(ctx context.Context, n int) (int, error) {
					bodies.Add(n)
					return n, memory.OnComplete(ctx, func(tx *memory.Tx) error {
						functions.Add(n)
						_, err := e.Store.Provider.(*memory.Provider).CreateIn(ctx, memory.InTx(tx), provider.CreateRequest{
							ID: "effect", Key: enginetest.NewID(), Commit: enginetest.NewID(), Name: "nobody",
						})
						return err
					})
				})
				e.StartOn(node, reg, e.Options)
				key := e.Create("single", "single", 7)
				if got := enginetest.Output[int](e, key); got != 7 {
					e.T.Errorf("it answered %d", got)
				}
				results(e, key)
				if got, err := e.Store.Get(t.Context(), provider.GetRequest{ID: "effect"}); err != nil || got.Instance.Name != "nobody" {
					e.T.Errorf("the effect: %+v, %v", got.Instance, err)
				}
				if plan.Injected(faulty.CompleteIn) == 0 || len(bodies.All()) != 1 {
					e.T.Errorf("%d faults, the body ran %d times, the function %d times", plan.Injected(faulty.CompleteIn), len(bodies.All()), len(functions.All()))
				}
			})
		})
	}
}
