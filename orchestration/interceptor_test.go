package orchestration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// tracing is an interceptor that adds to what it sees, and notes each call in the history-proof way: as a value of the execution, which a query
// of the code cannot change.
type tracing struct {
	orchestration.InterceptorBase

	name  string
	trace *[]string
}

func (i *tracing) note(what, name string) { *i.trace = append(*i.trace, i.name+" "+what+" "+name) }

func (i *tracing) Main(ctx *octx, in json.RawMessage, next func(*octx, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	i.note("main", string(in))
	out, err := next(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", i.name, err)
	}
	return json.Marshal(i.name + "(" + string(out) + ")")
}

func (i *tracing) Event(ctx *octx, e orchestration.Incoming, next func(*octx, orchestration.Incoming) error) error {
	i.note("event", e.Name)
	return next(ctx, e)
}

func (i *tracing) Query(
	_ *octx, q orchestration.Incoming, next func(orchestration.Incoming) (json.RawMessage, error),
) (json.RawMessage, error) {
	out, err := next(q)
	if err != nil {
		return nil, err
	}
	return json.Marshal(i.name + ":" + strings.Trim(string(out), `"`))
}

func (i *tracing) ValidateUpdate(_ *octx, u orchestration.Incoming, next func(orchestration.Incoming) error) error {
	if string(u.Input) == `"bad "`+i.name {
		return errors.New("refused by " + i.name)
	}
	return next(u)
}

func (i *tracing) Update(
	ctx *octx, u orchestration.Incoming, next func(*octx, orchestration.Incoming) (json.RawMessage, error),
) (json.RawMessage, error) {
	i.note("update", u.Name)
	u.Input = json.RawMessage(strings.Replace(string(u.Input), `"`, `"`+i.name+".", 1))
	return next(ctx, u)
}

func (i *tracing) Activity(
	ctx *octx, call orchestration.ActivityCall, next func(*octx, orchestration.ActivityCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	i.note("activity", call.Name)
	call.Options = append(slices.Clone(call.Options), orchestration.WithFairnessKey(i.name))
	return next(ctx, call)
}

func (i *tracing) Local(
	ctx *octx, call orchestration.ActivityCall, next func(*octx, orchestration.ActivityCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	i.note("local", call.Name)
	return next(ctx, call)
}

func (i *tracing) Child(
	ctx *octx, call orchestration.ChildCall, next func(*octx, orchestration.ChildCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	i.note("child", call.Name+call.Version)
	return next(ctx, call)
}

func (i *tracing) Timer(
	ctx *octx, d time.Duration, next func(*octx, time.Duration) orchestration.Future[none],
) orchestration.Future[none] {
	i.note("timer", d.String())
	return next(ctx, d)
}

func (i *tracing) SideEffect(ctx *octx, next func(*octx) (json.RawMessage, error)) (json.RawMessage, error) {
	i.note("effect", "")
	return next(ctx)
}

// traced registers two tracing interceptors whose notes the code returns.
func traced(t *testing.T, reg *runtime.Registry) func(ctx *octx) *[]string {
	t.Helper()
	var mu sync.Mutex
	traces := map[string]*[]string{} // by execution and run of its code
	for _, name := range []string{"outer", "inner"} {
		err := runtime.AddOrchestrationInterceptor(reg, func(ctx *octx) orchestration.Interceptor {
			mu.Lock()
			defer mu.Unlock()
			if name == "outer" {
				traces[ctx.Info().Key] = new([]string)
			}
			return &tracing{name: name, trace: traces[ctx.Info().Key]}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return func(ctx *octx) *[]string {
		mu.Lock()
		defer mu.Unlock()
		return traces[ctx.Info().Key]
	}
}

// The code and its calls pass all interceptors, the first one outermost. They see JSON, change what goes in and comes out, and run again on replay.
func TestInterceptorsAreAroundAllThatCodeDoes(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		trace := traced(e.T.(*testing.T), reg)
		enginetest.Activity(e.T, reg, "double", Double)
		enginetest.Orchestration(e.T, reg, "child", func(_ *octx, n int) (string, error) { return fmt.Sprint("child of ", n), nil })
		enginetest.Orchestration(e.T, reg, "code", func(ctx *octx, n int) (string, error) {
			events, updates := 0, ""
			orchestration.HandleQuery(ctx, "events", func(none) (string, error) { return fmt.Sprint(events), nil })
			orchestration.HandleUpdate(ctx, "say", func(_ *octx, s string) (string, error) {
				updates = s
				return "said " + s, nil
			})
			orchestration.HandleEvent(ctx, "go", func(ctx *octx, by int) error {
				events += by
				return ctx.Sleep(time.Minute)
			})
			if err := ctx.Await(func() bool { return events > 0 && updates != "" }); err != nil {
				return "", err
			}
			m, err := orchestration.CallActivityNamed[int](ctx, "double", n)
			if err != nil {
				return "", err
			}
			l, err := orchestration.CallLocalNamed[int](ctx, "double", m)
			if err != nil {
				return "", err
			}
			effect, err := orchestration.SideEffect(ctx, func() (int, error) { return 7, nil })
			if err != nil {
				return "", err
			}
			// The child's function is intercepted, too.
			child, err := orchestration.CallOrchestrationNamed[string](ctx, "child", effect)
			if err != nil {
				return "", err
			}
			if err := ctx.Sleep(time.Hour); err != nil {
				return "", err
			}
			return fmt.Sprint(l, " ", child, " ", strings.Join(*trace(ctx), ", ")), nil
		})
		e.Start(reg)
		h, err := client.StartNamed[string](e.T.Context(), e.Client(client.Options{}), "code", 5, client.WithID("a"))
		if err != nil {
			e.T.Fatal(err)
		}
		if said, err := client.Update[string](e.T.Context(), h, "say", "hi"); said != "said inner.outer.hi" || err != nil {
			e.T.Errorf("the update returned %q, %v", said, err)
		}
		if _, err := client.Update[string](e.T.Context(), h, "say", 7); !errors.Is(err, client.ErrRejected) {
			e.T.Errorf("the update of another type: %v", err)
		}
		if err := h.Raise(e.T.Context(), "go", 1); err != nil {
			e.T.Fatal(err)
		}
		out, err := h.Wait(e.T.Context())
		if err != nil {
			e.T.Fatal(err)
		}
		want := `outer("inner(\"20 outer(\\\"inner(\\\\\\\"child of 7\\\\\\\")\\\") ` + strings.Join([]string{
			"outer main 5", "inner main 5", "outer update say", "inner update say", "outer event go", "inner event go", "outer timer 1m0s",
			"inner timer 1m0s", "outer activity double", "inner activity double", "outer local double", "inner local double", "outer effect ",
			"inner effect ", "outer child child", "inner child child", "outer timer 1h0m0s", "inner timer 1h0m0s",
		}, ", ") + `\")")`
		if out != want {
			e.T.Errorf("got\n%s\nwant\n%s", out, want)
		}
		if all := calls(e, h.Key()); len(all) != 1 || !strings.Contains(all[0], `key "inner"`) {
			e.T.Errorf("the call got %v: the innermost interceptor is the last to add an option", all)
		}
		if asked, err := enginetest.Query[string](e, h, "events", nil); asked != "outer:inner:1" || err != nil {
			e.T.Errorf("the query answered %q, %v", asked, err)
		}
		enginetest.Replays(e, h)
	})
}

// A call that an interceptor makes passes only those behind it, so it does not meet itself.
type before struct {
	orchestration.InterceptorBase
}

func (before) Activity(
	ctx *octx, call orchestration.ActivityCall, next func(*octx, orchestration.ActivityCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	done := orchestration.NewPromise[json.RawMessage](ctx)
	ctx.Go(func(ctx *octx) error {
		if _, err := orchestration.CallActivityNamed[int](ctx, "double", 100); err != nil {
			return done.Fail(err)
		}
		out, err := next(ctx, call).Get(ctx)
		if err != nil {
			return done.Fail(err)
		}
		return done.Set(out)
	})
	return done.Future()
}

func TestInterceptorMakesCallsOfItsOwn(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		if err := runtime.AddOrchestrationInterceptor(reg, func(*octx) orchestration.Interceptor { return before{} }); err != nil {
			e.T.Fatal(err)
		}
		enginetest.Activity(e.T, reg, "double", Double)
		enginetest.Orchestration(e.T, reg, "code", func(ctx *octx, n int) (int, error) {
			return orchestration.CallActivityNamed[int](ctx.WithActivityOptions(orchestration.WithFairnessKey("k")), "double", n)
		})
		e.Start(reg)
		key := e.Create("a", "code", 5)
		if out := enginetest.Output[int](e, key); out != 10 {
			e.T.Errorf("got %d", out)
		}
		if all := calls(e, key); len(all) != 2 || !strings.Contains(all[1], `key "k"`) {
			e.T.Errorf("the calls are %v", all)
		}
	})
}

// Replay finds an interceptor that is missing or has changed, as it finds changed code. Orchestrations of perdure itself have none: a schedule
// goes on whatever the interceptors do. An interceptor that uses the engine where code only reads is refused as the code is.
func TestHazard121_InterceptorsBelongToTheRegistry(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		register := func(with bool) *runtime.Registry {
			reg := runtime.NewRegistry()
			if with {
				err := runtime.AddOrchestrationInterceptor(reg, func(ctx *octx) orchestration.Interceptor {
					if strings.HasPrefix(ctx.Info().Orchestration, "perdure.") {
						e.T.Error("an interceptor is around " + ctx.Info().Orchestration)
					}
					return sleeping{}
				})
				if err != nil {
					e.T.Fatal(err)
				}
			}
			enginetest.Orchestration(e.T, reg, "code", func(ctx *octx, _ none) (none, error) {
				orchestration.HandleQuery(ctx, "ask", func(none) (int, error) { return 1, nil })
				orchestration.HandleUpdate(ctx, "change", func(*octx, none) (int, error) { return 1, nil })
				_, err := orchestration.Events[none](ctx, "end").Receive(ctx)
				return none{}, err
			})
			return reg
		}
		e.Start(register(true))
		c := e.Client(client.Options{})
		spec := client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}}
		if _, err := client.CreateScheduleNamed(e.T.Context(), c, "hourly", spec, "code", nil); err != nil {
			e.T.Fatal(err)
		}
		h, err := client.StartNamed[none](e.T.Context(), c, "code", nil)
		if err != nil {
			e.T.Fatal(err)
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // virtual
		if _, err := client.Query[int](e.T.Context(), h, "ask", nil); !errors.Is(err, client.ErrQueryRefused) {
			e.T.Errorf("a query around which an interceptor sleeps: %v", err)
		}
		if _, err := client.Update[int](e.T.Context(), h, "change", nil); !errors.Is(err, client.ErrPanicked) {
			e.T.Errorf("an update whose validation sleeps: %v", err)
		}
		file, err := h.ExportHistory(e.T.Context(), 1)
		if err != nil {
			e.T.Fatal(err)
		}
		if err := runtime.Replay(e.T.Context(), register(true), file); err != nil {
			e.T.Error(err)
		}
		differs, ok := errors.AsType[*runtime.ReplayError](runtime.Replay(e.T.Context(), register(false), file))
		if !ok || !strings.Contains(differs.Expected, "Timer") {
			e.T.Errorf("without the interceptor: %v", differs)
		}
		if err := h.Raise(e.T.Context(), "end", nil); err != nil {
			e.T.Fatal(err)
		}
		if _, err := h.Wait(e.T.Context()); err != nil {
			e.T.Error(err)
		}
	})
}

// sleeping sleeps before the code, and where it may not.
type sleeping struct{ orchestration.InterceptorBase }

func (sleeping) Main(ctx *octx, in json.RawMessage, next func(*octx, json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if err := ctx.Sleep(time.Second); err != nil {
		return nil, err
	}
	return next(ctx, in)
}

func (sleeping) Query(
	ctx *octx, q orchestration.Incoming, next func(orchestration.Incoming) (json.RawMessage, error),
) (json.RawMessage, error) {
	if err := ctx.Sleep(time.Second); err != nil {
		return nil, err
	}
	return next(q)
}

func (sleeping) ValidateUpdate(ctx *octx, u orchestration.Incoming, next func(orchestration.Incoming) error) error {
	if err := ctx.Sleep(time.Second); err != nil {
		return err
	}
	return next(u)
}

// counting counts attempts, and changes what goes in and comes out.
type counting struct {
	activity.InterceptorBase

	seen *enginetest.Notes[string]
}

func (c counting) Attempt(
	ctx context.Context, in json.RawMessage, next func(context.Context, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	info := activity.GetInfo(ctx)
	c.seen.Add(fmt.Sprintf("%s %d %t", info.Activity, info.Attempt, info.Local))
	switch string(in) {
	case "1":
		return next(ctx, json.RawMessage("21"))
	case "2":
		return json.RawMessage("no JSON"), nil
	}
	if info.Attempt == 1 {
		return nil, errors.New("not yet")
	}
	return next(ctx, in)
}

func TestActivityInterceptor(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		var seen enginetest.Notes[string]
		reg := runtime.NewRegistry()
		if err := runtime.AddActivityInterceptor(reg, counting{seen: &seen}); err != nil {
			e.T.Fatal(err)
		}
		enginetest.Activity(e.T, reg, "double", Double)
		enginetest.Orchestration(e.T, reg, "code", func(ctx *octx, n int) (int, error) {
			if n == 1 {
				return orchestration.CallLocalNamed[int](ctx, "double", n)
			}
			return orchestration.CallActivityNamed[int](ctx, "double", n, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
		})
		e.Start(reg)
		for in, want := range map[int]int{1: 42, 3: 6} {
			if out := enginetest.Output[int](e, e.Create(fmt.Sprint(in), "code", in)); out != want {
				e.T.Errorf("%d became %d, want %d", in, out, want)
			}
		}
		if _, err := enginetest.Result[int](e, e.Create("2", "code", 2), nil); !errors.Is(err, orchestration.ErrPayload) {
			e.T.Errorf("an output that is no JSON: %v", err)
		}
		all := seen.All()
		slices.Sort(all)
		if want := []string{"double 1 false", "double 1 false", "double 1 true", "double 2 false"}; !slices.Equal(all, want) {
			e.T.Errorf("attempts %v, want %v", all, want)
		}
	})
}

// What the registry refuses, it refuses again at the start.
func TestInterceptorsThatAreNil(t *testing.T) {
	t.Parallel()
	reg := runtime.NewRegistry()
	for _, err := range []error{
		runtime.AddOrchestrationInterceptor(reg, nil), runtime.AddActivityInterceptor(reg, nil),
		runtime.AddActivityInterceptor(reg, (*counting)(nil)), runtime.AddOrchestrationInterceptor(nil, nil),
	} {
		if !errors.Is(err, runtime.ErrRegistration) {
			t.Error(err)
		}
	}
}
