package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/settings"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Code that calls a function under whose name a test has registered another one is told two ways out. Both help, for activities and children.
func TestAdviceOnAnotherFunctionOfAName(t *testing.T) {
	t.Parallel()
	ownShadow := activity.Define("Shadow of the test", Shadow)
	ownTwice := orchestration.Define("Twice of the test", Twice)
	for name, c := range map[string]struct {
		call func(ctx *octx) (int, error)
		want int // 0: the turn fails, with the advice
	}{
		"activity":                      {func(ctx *octx) (int, error) { return orchestration.CallActivity(ctx, Shadow, 7) }, 0},
		"activity by its name":          {func(ctx *octx) (int, error) { return orchestration.CallActivityNamed[int](ctx, "Shadow", 7) }, 70},
		"activity with another name":    {func(ctx *octx) (int, error) { return orchestration.CallActivity(ctx, ownShadow, 7) }, -7},
		"child":                         {func(ctx *octx) (int, error) { return orchestration.CallOrchestration(ctx, Twice, 7) }, 0},
		"child by its name":             {func(ctx *octx) (int, error) { return orchestration.CallOrchestrationNamed[int](ctx, "Twice", 7) }, 77},
		"child under a name of its own": {func(ctx *octx) (int, error) { return orchestration.CallOrchestration(ctx, ownTwice, 7) }, 14},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				reg := runtime.NewRegistry()
				err := errors.Join(
					runtime.AddActivity(reg, Double),
					runtime.AddActivity(reg, activity.Define("Shadow", func(_ context.Context, n int) (int, error) { return 10 * n, nil })),
					runtime.AddActivity(reg, ownShadow), runtime.AddOrchestration(reg, ownTwice),
					runtime.AddOrchestration(reg, orchestration.Define("Twice", func(_ *octx, n int) (int, error) { return 11 * n, nil })),
				)
				if err != nil {
					e.T.Fatal(err)
				}
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ int) (int, error) { return c.call(ctx) })
				e.Start(reg)
				i := e.EndedOrBlocked(e.Create("main", "main", 0))
				if c.want != 0 {
					if got := enginetest.Output[int](e, i.Key); got != c.want {
						e.T.Errorf("got %d, want %d", got, c.want)
					}
					return
				}
				if i.Blocked == nil {
					e.T.Fatalf("it is %v", i.Status)
				}
				for _, part := range []string{
					"is registered with another function: give one of them another name with Define", "or, in a test, replace it with orchestrationtest.Replace", "(CallActivityNamed, CallOrchestrationNamed)",
				} {
					if !strings.Contains(i.Blocked.Message, part) {
						e.T.Errorf("%q does not say %q", i.Blocked.Message, part)
					}
				}
			})
		})
	}
}

// The page on options says which errors a client knows: those of the registry if the node has made it and it is given no others, and else none.
func TestPageTellsTheErrorsOfClients(t *testing.T) {
	t.Parallel()
	row := settings.Table(t, "options.md", "client.Options", "option")["Errors"]
	if row["default"] != "none; with `rt.Client` those of the node's registry" {
		t.Errorf("the page says %q: say here what holds", row["default"])
	}
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "failing", func(*octx, int) (int, error) { return 0, errOne })
		if err := runtime.AddError(reg, "one", errOne); err != nil {
			e.T.Fatal(err)
		}
		rt := e.Start(reg)
		key := e.Create("main", "failing", 1)
		e.WaitEnded(key)
		of := func(opts client.Options) *client.Client { return clienttest.Of(e.T, rt, opts) }
		for name, c := range map[string]struct {
			of    func(opts client.Options) *client.Client
			opts  client.Options
			knows bool
		}{
			"rt.Client":                  {of, client.Options{}, true},
			"rt.Client with its own":     {of, client.Options{Errors: orchestration.NewErrors()}, false},
			"another process":            {e.Client, client.Options{}, false},
			"another process with those": {e.Client, client.Options{Errors: reg.Errors()}, true},
		} {
			_, err := client.HandleOf[int](c.of(c.opts), "main", key).Wait(e.T.Context())
			if !errors.Is(err, client.ErrFailed) || errors.Is(err, errOne) != c.knows {
				e.T.Errorf("%s: %v, which is the registered error: %v, want %v", name, err, errors.Is(err, errOne), c.knows)
			}
		}
	})
}
