package orchestration_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// delivers starts two children whose IDs follow from its identity, each before it waits for an event, and returns their IDs.
func delivers(ctx *octx, by string) (ids []string, err error) {
	for _, item := range []string{"a", "b"} {
		i := ctx.Info()
		of := map[string]string{"id": i.ID, "key": i.Key, "parent": i.ParentID + "/" + i.ID, "root": i.RootID}[by]
		id := fmt.Sprintf("%s#%d%s", of, i.Execution, item)
		if _, err := orchestration.CallOrchestrationNamed[string](ctx, "tells", none{}, orchestration.WithInstanceID(id)); err != nil {
			return nil, err
		}
		ids = append(ids, id)
		if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Up to the point of a fork or reset, code that has named children after its instance sees the identity of the origin. Otherwise none could be
// opened behind the first child. Behind the point it sees the new one.
func TestHazard56_CodeSeesItsOriginUpToThePoint(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "tells", func(ctx *octx, _ none) (string, error) { return ctx.Info().ID, nil })
		enginetest.Orchestration(e.T, reg, "delivers", delivers)
		enginetest.Orchestration(e.T, reg, "above", func(ctx *octx, by string) ([]string, error) {
			return orchestration.CallOrchestrationNamed[[]string](ctx, "delivers", by, orchestration.WithInstanceID("low-"+by))
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		for _, by := range []string{"id", "key", "parent", "root"} {
			name := func(h client.Handle[[]string], execution int64, item string) string {
				of := map[string]string{"id": h.ID(), "key": h.Key().String(), "parent": "/" + h.ID(), "root": h.ID()}[by]
				if h.ID() == "low-"+by {
					of = map[string]string{"id": of, "key": of, "parent": "above-" + by + of, "root": "above-" + by}[by]
				}
				return fmt.Sprintf("%s#%d%s", of, execution, item)
			}
			goOn := func(h client.Handle[[]string], n int, want ...string) {
				e.T.Helper()
				for left := n; left > 0; left-- {
					e.Until("it knows the outcome of its child", func() bool {
						all := e.History(h.Key(), e.Get(h.Key()).Execution)
						kind := history.Kind(0)
						if len(all) > 0 {
							kind = all[len(all)-1].Body.Kind()
						}
						return kind == history.KindChildCompleted || kind == history.KindForkPoint && left == n
					})
					e.Raise(h.Key(), "go", 1)
				}
				if got, err := ended(e, h); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					e.T.Errorf("%s: %q, %v; want %q", h.ID(), got, err, want)
				}
				enginetest.Replays(e, h)
			}
			fork := func(h client.Handle[[]string], n int, id string) client.Handle[[]string] {
				e.T.Helper()
				f, err := client.Fork(e.T.Context(), h, pointOf(e, h, n), id)
				if err != nil {
					e.T.Fatal(err)
				}
				return f
			}
			startOf[[]string](e, c, "above", "above-"+by, by)
			h := client.HandleOf[[]string](c, "low-"+by, child(e, "low-"+by).Key())
			child(e, name(h, 1, "a"))
			goOn(h, 2, name(h, 1, "a"), name(h, 1, "b"))
			one := fork(h, 1, "one-"+by)
			goOn(one, 2, name(h, 1, "a"), name(one, 1, "b"))
			two := fork(one, 1, "two-"+by) // directly behind the first point, whose event is not copied
			goOn(two, 2, name(h, 1, "a"), name(two, 1, "b"))
			three := fork(one, 2, "three-"+by) // behind it
			goOn(three, 1, name(h, 1, "a"), name(one, 1, "b"))
			if _, err := client.Reset(e.T.Context(), one, pointOf(e, one, 1), client.DropLater()); err != nil {
				e.T.Fatal(err)
			}
			goOn(one, 2, name(h, 1, "a"), name(one, 2, "b"))
		}
	})
}
