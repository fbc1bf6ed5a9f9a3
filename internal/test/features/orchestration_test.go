package features

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// The design of an SDK for coroutines demands these of orchestrations.
func TestOrchestration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(r *rig){
		"query":                 query,
		"query_of_an_ended_run": queryOfAnEndedRun,
		"property_query":        propertyQuery,
		"get_version":           getVersion,
		"get_version_in_a_loop": getVersionInALoop,
		"info":                  info,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, test)
		})
	}
}

// handle returns a handle of an instance.
func (r *rig) handle(id string) client.Handle[string] {
	r.T.Helper()
	h, err := client.Lookup[string](r.T.Context(), r.Client(client.Options{}), id)
	if err != nil {
		r.T.Fatal(err)
	}
	return h
}

// until waits until the instance has so many events.
func (r *rig) until(h client.Handle[string], events int64) {
	r.T.Helper()
	r.Until(fmt.Sprintf("%d events", events), func() bool { return r.Get(h.Key()).HistoryLength >= events })
}

type cart struct{ Items []string }

// counting is an orchestration with queries of its state, which takes two events.
func counting(ctx *octx, _ none) (string, error) {
	var c cart
	orchestration.HandleQuery(ctx, "cart", func(none) (cart, error) { return c, nil })
	orchestration.HandleQuery(ctx, "item", func(n int) (string, error) {
		if n >= len(c.Items) {
			return "", errNoItem
		}
		return c.Items[n], nil
	})
	for range 2 {
		item, err := orchestration.Events[string](ctx, "add").Receive(ctx)
		if err != nil {
			return "", err
		}
		c.Items = append(c.Items, item)
	}
	return "paid", nil
}

var errNoItem = errors.New("no such item")

// query: a typed question reads the state that the last event has left. A failing handler fails its caller only, and an
// unknown name is refused with the known ones. No question leaves an event.
func query(r *rig) {
	key := r.main(counting)
	r.Start(r.reg)
	h := r.handle("main")
	ctx := r.T.Context()
	for n, item := range []string{"tea", "milk"} {
		request := fmt.Sprint("add-", n)
		if err := h.Raise(ctx, "add", item, client.WithRequestID(request)); err != nil {
			r.T.Fatal(err)
		}
		got, err := client.Query[cart](ctx, h, "cart", none{}, client.After(request))
		if err != nil || len(got.Items) != n+1 || got.Items[n] != item {
			r.T.Errorf("after %s the cart is %+v, %v", item, got, err)
		}
	}
	if got, err := client.Query[string](ctx, h, "item", 1); got != "milk" || err != nil {
		r.T.Errorf("item 1 is %q, %v", got, err)
	}
	if _, err := client.Query[string](ctx, h, "item", 7); !errors.Is(err, client.ErrQueryFailed) || !strings.Contains(err.Error(), errNoItem.Error()) {
		r.T.Errorf("item 7: %v", err)
	}
	unknown := new(client.UnknownQueryError)
	if _, err := client.Query[string](ctx, h, "price", 1); !errors.As(err, &unknown) || !slices.Contains(unknown.Known, "cart") {
		r.T.Errorf("an unknown query: %v", err)
	}
	if got := enginetest.Output[string](r.Engine, key); got != "paid" {
		r.T.Errorf("it ended with %q", got)
	}
	const want = "ExecutionStarted EventReceived EventReceived ExecutionCompleted"
	if got := kindsOf(r.History(key, 1)); got != want {
		r.T.Errorf("the history is %s", got)
	}
}

func kindsOf(events []history.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Body.Kind().String()
	}
	return strings.Join(names, " ")
}

// queryOfAnEndedRun: the handlers answer after the end as well.
func queryOfAnEndedRun(r *rig) {
	key := r.main(counting)
	r.Start(r.reg)
	for _, item := range []string{"tea", "milk"} {
		r.Raise(key, "add", item)
	}
	r.WaitEnded(key)
	h := r.handle("main")
	if got, err := client.Query[cart](r.T.Context(), h, "cart", none{}); err != nil || len(got.Items) != 2 {
		r.T.Errorf("%+v, %v", got, err)
	}
}

// propertyQuery: what the code shows under a name is read without code, while it runs, without any node, and after the end.
func propertyQuery(r *rig) {
	key := r.main(func(ctx *octx, _ none) (string, error) {
		for _, state := range []string{"waiting", "packed"} {
			orchestration.SetValue(ctx, "state", state)
			if err := receive(ctx, "go"); err != nil {
				return "", err
			}
		}
		orchestration.SetValue(ctx, "state", "sent")
		return "", nil
	})
	rt := r.Start(r.reg)
	h := r.handle("main")
	see := func(want string) {
		r.T.Helper()
		if got, err := client.Value[string](r.T.Context(), h, "state"); got != want || err != nil {
			r.T.Errorf("its state is %q, %v, want %q", got, err, want)
		}
	}
	r.until(h, 1)
	see("waiting")
	r.Raise(key, "go", none{})
	r.until(h, 2)
	r.Stop(rt)
	see("packed")
	if _, err := client.Value[string](r.T.Context(), h, "weight"); !errors.Is(err, client.ErrNotSet) {
		r.T.Errorf("a value that was never set: %v", err)
	}
	r.Start(r.reg)
	r.Raise(key, "go", none{})
	r.WaitEnded(key)
	see("sent")
}

// getVersion: a running instance keeps the side of a change on which it is, a new one takes the new side, before and after
// places where the code waits, in any coroutine and any order. The removed call replays.
func getVersion(r *rig) {
	fork := func(ctx *octx, id string) string {
		if ctx.Patched(id) {
			return "new " + id
		}
		return "old " + id
	}
	// The second release asks in another order than the third, from a coroutine.
	releases := []func(ctx *octx, in none) (string, error){
		func(ctx *octx, _ none) (string, error) { return "old a, old b", receive(ctx, "go") },
		func(ctx *octx, _ none) (string, error) {
			a := fork(ctx, "a")
			if err := receive(ctx, "go"); err != nil {
				return "", err
			}
			return a + ", " + fork(ctx, "b"), nil
		},
		func(ctx *octx, _ none) (string, error) {
			var a, b string
			done := ctx.Go(func(ctx *octx) error {
				a = fork(ctx, "a")
				return nil
			})
			if _, err := done.Get(ctx); err != nil {
				return "", err
			}
			if err := receive(ctx, "go"); err != nil {
				return "", err
			}
			b = fork(ctx, "b")
			return a + ", " + b + ", " + fork(ctx, "a"), nil
		},
		func(ctx *octx, _ none) (string, error) {
			ctx.DeprecatePatch("a")
			return "new a", receive(ctx, "go")
		},
	}
	var rt *runtime.Runtime
	deploy := func(release int) {
		r.T.Helper()
		if rt != nil {
			r.Stop(rt)
		}
		reg := runtime.NewRegistry()
		enginetest.Orchestration(r.T, reg, "main", releases[release])
		rt = r.Start(reg)
	}
	begin := func(id string) client.Handle[string] {
		r.T.Helper()
		r.Create(id, "main", none{})
		h := r.handle(id)
		r.until(h, 1)
		return h
	}
	deploy(0)
	first := begin("first")
	deploy(1)
	second := begin("second")
	deploy(2)
	third := begin("third")
	for _, c := range []struct {
		h    client.Handle[string]
		want string
	}{{first, "old a, new b, old a"}, {second, "new a, new b, new a"}, {third, "new a, new b, new a"}} {
		r.Raise(c.h.Key(), "go", none{})
		if got := enginetest.Output[string](r.Engine, c.h.Key()); got != c.want {
			r.T.Errorf("%s ended with %q, want %q", c.h.ID(), got, c.want)
		}
	}
	fourth := begin("fourth")
	deploy(3)
	r.Raise(fourth.Key(), "go", none{})
	if got := enginetest.Output[string](r.Engine, fourth.Key()); got != "new a" {
		r.T.Errorf("behind a removed change an instance ended with %q", got)
	}
}

// getVersionInALoop: the first answer holds for the rest of the execution, also where a new release reaches a loop midway.
func getVersionInALoop(r *rig) {
	release := func(asks bool) func(ctx *octx, _ none) (string, error) {
		return func(ctx *octx, _ none) (string, error) {
			var all []string
			for range 3 {
				side := "old"
				if asks && ctx.Patched("loop") {
					side = "new"
				}
				all = append(all, side)
				if err := receive(ctx, "go"); err != nil {
					return "", err
				}
			}
			return strings.Join(all, " "), nil
		}
	}
	before := runtime.NewRegistry()
	enginetest.Orchestration(r.T, before, "main", release(false))
	rt := r.Start(before)
	running := r.Create("running", "main", none{})
	r.Raise(running, "go", none{})
	h := r.handle("running")
	r.until(h, 2)
	r.Stop(rt)
	after := runtime.NewRegistry()
	enginetest.Orchestration(r.T, after, "main", release(true))
	r.Start(after)
	fresh := r.Create("fresh", "main", none{})
	r.Raise(fresh, "go", none{})
	for range 2 {
		r.Raise(running, "go", none{})
		r.Raise(fresh, "go", none{})
	}
	if got := enginetest.Output[string](r.Engine, running); got != "old old old" {
		r.T.Errorf("the running loop took %q", got)
	}
	if got := enginetest.Output[string](r.Engine, fresh); got != "new new new" {
		r.T.Errorf("the fresh loop took %q", got)
	}
}

// info: code learns what it is and how far it is, and an activity of whom it is.
func info(r *rig) {
	r.activity("work", func(ctx context.Context, _ string) (string, error) { return activity.GetInfo(ctx).Orchestration, nil })
	enginetest.Orchestration(r.T, r.reg, "main", func(ctx *octx, _ none) (string, error) {
		before := ctx.Info()
		of, err := call(ctx, "work", "")
		if err != nil {
			return "", err
		}
		after := ctx.Info()
		if after.Started != before.Started || after.HistoryBytes <= before.HistoryBytes || after.ContinueAsNewSuggested {
			return "", fmt.Errorf("%+v, then %+v", before, after)
		}
		return fmt.Sprintf("%s %d %t %q %d %d %s", before.ID, before.Execution, after.ID == after.RootID, after.ParentID,
			before.HistoryLength, after.HistoryLength, of), nil
	})
	r.Start(r.reg) // first, so that the store is one of the newest level
	key := r.Create("main", "main", none{})
	if got := enginetest.Output[string](r.Engine, key); got != `main 1 true "" 1 3 main` {
		r.T.Errorf("info is %q", got)
	}
}
