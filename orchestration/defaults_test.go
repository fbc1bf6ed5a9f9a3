package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// got describes the options that a stored call got.
func got(call *history.ActivityScheduled) string {
	attempts := int64(0)
	if call.Retry != nil {
		attempts = call.Retry.MaxAttempts
	}
	return fmt.Sprintf("%s: %d attempts, %v, key %q, queue %s", call.Name, attempts,
		time.Duration(call.StartToClose)*time.Microsecond, call.FairnessKey, call.Queue)
}

// calls returns what the calls of an execution got, in their order.
func calls(e *enginetest.Engine, key provider.UUID) (all []string) {
	e.T.Helper()
	for _, event := range e.History(key, 1) {
		if call, ok := event.Body.(*history.ActivityScheduled); ok {
			all = append(all, got(call))
		}
	}
	return all
}

// Options of a call count before those of its scope, and these before those of the registration. What is made from a scope has its options.
func TestOptionsOfCallScopeAndRegistration(t *testing.T) {
	t.Parallel()
	attempts := func(n int) orchestration.ActivityOption {
		return orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: n})
	}
	code := func(ctx *octx, _ none) (none, error) {
		double := func(ctx *octx, opts ...orchestration.ActivityOption) {
			if n, err := orchestration.CallActivity(ctx, Double, 1, opts...); n != 2 || err != nil {
				panic(fmt.Sprint(n, err))
			}
		}
		handled := false
		scope := ctx.WithActivityOptions(orchestration.WithStartToCloseTimeout(2*time.Minute), orchestration.WithFairnessKey("scope"))
		inner := scope.WithActivityOptions(orchestration.WithFairnessKey("inner"))
		orchestration.HandleEvent(inner, "go", func(ctx *octx, _ none) error {
			double(ctx)
			handled = true
			return nil
		})
		double(ctx)
		double(scope)
		double(scope, orchestration.WithStartToCloseTimeout(0), attempts(1), orchestration.WithQueue("default"))
		child, cancel := inner.WithCancel()
		defer cancel()
		timed, stop := child.WithTimeout(time.Hour)
		defer stop()
		double(timed.Detached())
		_, err := inner.Go(func(ctx *octx) error {
			double(ctx)
			_, err := orchestration.CallActivityNamed[int](ctx, "Other", 1)
			return err
		}).Get(ctx)
		if err == nil {
			_, err = orchestration.CallLocal(inner, Double, 1)
		}
		for err == nil && !handled {
			err = ctx.Sleep(time.Minute)
		}
		return none{}, err
	}
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		if err := errors.Join(
			runtime.AddActivity(reg, Double, runtime.OnQueue("twos"), runtime.Defaults(
				attempts(5), orchestration.WithStartToCloseTimeout(time.Minute), orchestration.WithQueue("twos"))),
			runtime.AddActivity(reg, Double),
		); err != nil {
			e.T.Fatal(err)
		}
		enginetest.Activity(e.T, reg, "Other", Double)
		key := start(e, reg, code, none{})
		e.Raise(key, "go", none{})
		if in := e.WaitEnded(key); in.Status != provider.StatusCompleted {
			e.T.Fatalf("ended as %v", in.Status)
		}
		want := []string{
			`Double: 5 attempts, 1m0s, key "", queue twos`,
			`Double: 5 attempts, 2m0s, key "scope", queue twos`,
			`Double: 1 attempts, 0s, key "scope", queue default`,
			`Double: 5 attempts, 2m0s, key "inner", queue twos`,
			`Double: 5 attempts, 2m0s, key "inner", queue twos`,
			`Other: 0 attempts, 2m0s, key "inner", queue default`,
		}
		handler := want[3]
		have := calls(e, key)
		if at := slices.Index(have, handler); at >= 0 { // the handler has run somewhere in between, and calls alike
			have = slices.Delete(have, at, at+1)
		}
		if !slices.Equal(have, want) {
			e.T.Errorf("the calls got\n%s\nwant, beside that of the handler,\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A bad option of a scope fails each call of the scope, as one of the call does, and no local one.
func TestBadOptionOfScope(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]orchestration.ActivityOption{
		"priority is 9": orchestration.WithPriority(9), "an option is nil": nil,
	} {
		enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
			key := start(e, registry(e.T), func(ctx *octx, _ none) (string, error) {
				scope := ctx.WithActivityOptions(opt)
				if _, err := orchestration.CallLocal(scope, Double, 1); err != nil {
					return "", err
				}
				_, err := orchestration.CallActivity(scope, Double, 1)
				if !errors.Is(err, orchestration.ErrInvalid) {
					return "", fmt.Errorf("returned %w", err)
				}
				return err.Error(), nil
			}, none{})
			e.WaitEnded(key)
			want := `calling activity "Double": an option of WithActivityOptions: ` + name
			if out, err := enginetest.Result[string](e, key, nil); err != nil || !strings.HasPrefix(out, want) {
				e.T.Errorf("returned %q, %v, want %q", out, err, want)
			}
		})
	}
}

// Length is an activity.
func Length(_ context.Context, s string) (int, error) { return len(s), nil }

// Finish is an activity that runs until it is told to stop, and then succeeds.
func Finish(ctx context.Context, _ none) (string, error) {
	<-ctx.Done()
	return "finished", nil
}

// fragile makes calls which default options could make fail or end in another way.
func fragile(ctx *octx, _ none) (string, error) {
	var said []string
	say := func(v any, err error) { said = append(said, fmt.Sprintf("%v %v", v, err)) }
	say(orchestration.CallActivity(ctx, Length, strings.Repeat("x", 2<<20-2)))
	say(orchestration.CallActivity(ctx, Length, strings.Repeat("x", provider.MaxPayload-2)))
	say(orchestration.CallLocal(ctx, Length, "abc"))
	scope, cancel := ctx.WithCancel()
	finish := orchestration.StartActivity(scope, Finish, none{}, orchestration.WithQueue("work"))
	if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
		return "", err
	}
	cancel()
	say(finish.Get(ctx))
	if _, err := orchestration.Events[none](ctx, "end").Receive(ctx); err != nil {
		return "", err
	}
	return strings.Join(said, "\n"), nil
}

// otherDefaults returns registries of one code with other default options.
func otherDefaults(t testing.TB) map[string]*runtime.Registry {
	t.Helper()
	most := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, NonRetryable: []string{strings.Repeat("n", 1024)}})
	all := make(map[string]*runtime.Registry)
	for name, opts := range map[string][]runtime.RegisterOption{
		"none": nil,
		"wait": {runtime.Defaults(most, orchestration.WithCancellation(orchestration.WaitForEnd), orchestration.AtMostOnce(),
			orchestration.WithHeartbeatTimeout(time.Hour), orchestration.WithStartToCloseTimeout(0))},
		"try": {runtime.Defaults(orchestration.WithCancellation(orchestration.TryCancel), orchestration.WithPriority(1))},
	} {
		reg := runtime.NewRegistry()
		if err := errors.Join(runtime.AddActivity(reg, Length, opts...), runtime.AddActivity(reg, Finish, opts...)); err != nil {
			t.Fatal(err)
		}
		enginetest.Orchestration(t, reg, "main", fragile)
		all[name] = reg
	}
	return all
}

// Two nodes have other default options. Each call ends as the options that it was stored with say, on whichever node its code runs, and no
// option that was not stored decides what code sees.
func TestHazard122_DefaultsAreNoPartOfTheCode(t *testing.T) {
	t.Parallel()
	for first, end := range map[string]string{"wait": "finished <nil>", "none": " cancelled", "try": " cancelled"} {
		for second := range otherDefaults(t) {
			t.Run(first+" then "+second, func(t *testing.T) {
				t.Parallel()
				enginetest.EveryMode(t, func(e *enginetest.Engine) {
					nodes, worker := otherDefaults(e.T), runtime.NewRegistry()
					if err := runtime.AddActivity(worker, Finish, runtime.OnQueue("work")); err != nil {
						e.T.Fatal(err)
					}
					e.Start(worker)
					node := e.Start(nodes[first])
					key := e.Create("main", "main", none{})
					e.Until("all is called and runs", func() bool {
						tasks := e.Tasks(key)
						return len(calls(e, key)) == 2 && len(tasks) == 1 && tasks[0].Owner != ""
					})
					e.Stop(node)
					e.Start(nodes[second])
					e.Raise(key, "go", none{})
					e.Raise(key, "end", none{})
					e.WaitEnded(key)
					out, err := enginetest.Result[string](e, key, nil)
					said := strings.Split(out, "\n")
					if err != nil || len(said) != 4 || said[0] != "2097150 <nil>" || said[2] != "3 <nil>" {
						e.T.Fatalf("returned %q, %v", out, err)
					}
					if !strings.HasPrefix(said[1], "0 input of activity Length has 2162688 bytes") {
						e.T.Errorf("a call with too much input returned %q", said[1])
					}
					if !strings.Contains(said[3], strings.TrimSpace(end)) {
						e.T.Errorf("the call that was cancelled returned %q, want %q", said[3], end)
					}
					replays(e, key, nodes)
				})
			})
		}
	}
}

// replays demands that a history replays on each node.
func replays(e *enginetest.Engine, key provider.UUID, nodes map[string]*runtime.Registry) {
	e.T.Helper()
	h, err := e.Client(client.Options{}).ExportHistory(e.T.Context(), "main", 0)
	if err != nil {
		e.T.Fatal(err)
	}
	if len(h.Events) != len(e.History(key, 1)) {
		e.T.Fatalf("the export has %d events", len(h.Events))
	}
	for name, reg := range nodes {
		if err := runtime.Replay(e.T.Context(), reg, h); err != nil {
			e.T.Errorf("defaults %q: %v", name, err)
		}
	}
}
