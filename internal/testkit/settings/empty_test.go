package settings_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/perdure/perdure/activity/activitytest"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/settings"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// An empty slice or map means the same as a nil one, in every struct of options.
func TestEmptyMeansNil(t *testing.T) {
	t.Parallel()
	var node runtime.Options
	var filter client.Filter
	var caller client.Options
	var policy orchestration.RetryPolicy
	for _, options := range []struct {
		of   any
		does func() string // nil: it has no slices and no maps
	}{
		{&node, func() string { return nodeDoes(t, node) }},
		{&filter, func() string { return filterFinds(t, filter) }},
		{&policy, func() string { return policyRetries(t, policy) }},
		{&caller, func() string { return clientStarts(t, caller) }},
		{&activitytest.Options{}, nil},
		{&sqlite.Options{}, nil},
		{&postgres.Options{}, nil},
		{&memory.Options{}, nil},
	} {
		of := reflect.ValueOf(options.of).Elem()
		for name, field := range settings.Fields(of) {
			var empty reflect.Value
			switch field.Kind() {
			case reflect.Slice:
				empty = reflect.MakeSlice(field.Type(), 0, 0)
			case reflect.Map:
				empty = reflect.MakeMap(field.Type())
			default:
				continue
			}
			if options.does == nil {
				t.Errorf("%v has %s: say here what it does", of.Type(), name)
				continue
			}
			want := options.does()
			field.Set(empty)
			if got := options.does(); got != want {
				t.Errorf("%v: with an empty %s: %s, with a nil one: %s", of.Type(), name, got, want)
			}
			field.SetZero()
		}
	}
}

// nodeDoes runs activities of two queues.
func nodeDoes(t *testing.T, opts runtime.Options) (does string) {
	t.Helper()
	enginetest.Bubble(t, opts, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "work", func(context.Context, int) (int, error) { return 1, nil })
		enginetest.Activity(e.T, reg, "other work", func(context.Context, int) (int, error) { return 2, nil }, runtime.OnQueue("other"))
		enginetest.Orchestration(e.T, reg, "main", func(ctx *orchestration.Context, _ int) ([]int, error) {
			work := orchestration.StartActivityNamed[int](ctx, "work", 0)
			other := orchestration.StartActivityNamed[int](ctx, "other work", 0, orchestration.WithQueue("other"))
			return orchestration.All(ctx, work, other)
		})
		rt := e.Start(reg)
		ctx, cancel := context.WithTimeout(e.T.Context(), time.Hour)
		defer cancel()
		h, err := client.StartNamed[[]int](ctx, e.Client(client.Options{}), "main", 0)
		if err != nil {
			e.T.Fatal(err)
		}
		out, err := h.Wait(ctx)
		health, unhealthy := rt.Health(e.T.Context())
		does = fmt.Sprintf("%v, %v; %v, %v", out, err, health.Unserved, unhealthy)
		if err != nil {
			_ = h.Terminate(e.T.Context(), "the test is over")
		}
	})
	return does
}

func filterFinds(t *testing.T, f client.Filter) (finds string) {
	t.Helper()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		e.Create("running", "main", 0)
		n, err := e.Client(client.Options{}).Count(e.T.Context(), f)
		finds = fmt.Sprint(n, err)
	})
	return finds
}

func policyRetries(t *testing.T, p orchestration.RetryPolicy) (result string) {
	t.Helper()
	p.MaxAttempts = 3
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		runs := 0
		enginetest.Activity(e.T, reg, "fails", func(context.Context, int) (int, error) {
			runs++
			return 0, errors.New("refused")
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *orchestration.Context, _ int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "fails", 0, orchestration.WithRetry(p))
		})
		e.Start(reg)
		_, err := enginetest.Result[int](e, e.Create("main", "main", 0), nil)
		result = fmt.Sprint(runs, err)
	})
	return result
}

// clientStarts returns what a client with the options has started.
func clientStarts(t *testing.T, options client.Options) string {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	c, err := client.New(store, options)
	if err != nil {
		return err.Error()
	}
	h, err := client.StartNamed[int](t.Context(), c, "main", 1, client.WithID("i"))
	if err != nil {
		return err.Error()
	}
	d, err := h.Describe(t.Context())
	return fmt.Sprint(d.ID, " ", d.Orchestration, " ", d.Status, " ", err)
}
