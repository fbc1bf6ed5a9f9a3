package headers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

type contextKey struct{}

// A propagator that panics, makes too much, or returns a context of its own, changes nothing but its own part. Neither a call
// of a client nor a turn nor an attempt fails.
func TestHazard73_PropagatorsFailAlone(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		e.Options.Propagators = []header.Propagator{
			propagator{
				inject:  func(_ context.Context, h header.Map) { h["lost"] = "x"; panic("inject") },
				extract: func(context.Context, header.Map) context.Context { panic("extract") },
			},
			propagator{
				inject:  func(_ context.Context, h header.Map) { h["long"] = strings.Repeat("x", header.MaxBytes) },
				extract: func(context.Context, header.Map) context.Context { return e.T.Context() },
			},
			propagator{
				inject:  func(_ context.Context, h header.Map) { h["perdure.own"] = "x" },
				extract: func(context.Context, header.Map) context.Context { return nil },
			},
			propagator{
				inject: func(_ context.Context, h header.Map) { h["\x00"] = "x" },
				extract: func(ctx context.Context, h header.Map) context.Context {
					clear(h) // its own
					return ctx
				},
			},
			header.Value("kept", contextKey{}),
		}
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, _ none) (string, error) {
			value, _ := ctx.Value(contextKey{}).(string)
			return value + " " + strings.Join(keys(activity.GetInfo(ctx).Header), ","), nil
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			return orchestration.CallActivityNamed[string](ctx, "work", none{})
		})
		rt := e.Start(reg)
		var log bytes.Buffer
		c := e.Client(client.Options{Propagators: e.Options.Propagators, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		h, err := client.StartNamed[string](context.WithValue(e.T.Context(), contextKey{}, "v"), c, "main", none{}, client.WithHeader("given", "g"))
		if err != nil {
			e.T.Fatal(err)
		}
		if got := wait(e, h); got != "v given,kept" {
			e.T.Errorf("the activity saw %q", got)
		}
		if n := strings.Count(log.String(), "header left out"); n != 4 {
			e.T.Errorf("%d parts of the header were left out:\n%s", n, &log)
		}
		if s := rt.Stats(); s.PropagatorsFailed != 3 || s.TurnsFailed != 0 || s.AttemptsFailed != 0 {
			e.T.Errorf("%d propagators failed, %d turns, %d attempts", s.PropagatorsFailed, s.TurnsFailed, s.AttemptsFailed)
		}
	})
}

func keys(h header.Map) []string {
	var all []string
	for _, key := range []string{"given", "kept", "lost", "long", "perdure.own"} {
		if _, ok := h[key]; ok {
			all = append(all, key)
		}
	}
	return all
}

// Propagators run once for a call of the client and once for an attempt, however often the code is replayed. No goroutine of
// code runs them.
func TestHazard73_PropagatorsRunOnFirstExecutionOnly(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		var injected, extracted atomic.Int64
		e.Options.Propagators = []header.Propagator{propagator{
			inject: func(_ context.Context, h header.Map) {
				injected.Add(1)
				h["n"] = "1"
			},
			extract: func(ctx context.Context, h header.Map) context.Context {
				extracted.Add(1)
				if activity.GetInfo(ctx).Activity != "work" || h["n"] != "1" {
					e.T.Errorf("extracted %v outside of an attempt", h)
				}
				return ctx
			},
		}}
		reg := runtime.NewRegistry()
		enginetest.Activity(e.T, reg, "work", func(context.Context, int) (none, error) { return none{}, nil })
		_, h := start(e, reg, func(ctx *octx, _ none) (none, error) {
			for i := range 5 {
				if _, err := orchestration.CallActivityNamed[none](ctx, "work", i); err != nil {
					return none{}, err
				}
				if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
					return none{}, err
				}
			}
			return none{}, nil
		}, none{})
		c := e.Client(client.Options{Propagators: e.Options.Propagators})
		for i := range 5 {
			if err := c.Raise(e.T.Context(), h.ID(), "go", i); err != nil {
				e.T.Fatal(err)
			}
		}
		wait(e, h)
		if i, x := injected.Load(), extracted.Load(); i != 6 || x != 5 {
			e.T.Errorf("injected %d times for 6 calls, extracted %d times for 5 attempts", i, x)
		}
	})
}

// An activity that starts an instance through a client with its context passes the facts on.
func TestActivityPassesTheHeaderOn(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		e.Options.Propagators = []header.Propagator{header.Value("id", contextKey{})}
		reg := runtime.NewRegistry()
		var c *client.Client
		enginetest.Orchestration(e.T, reg, "other", func(ctx *octx, _ none) (string, error) {
			return orchestration.CallActivityNamed[string](ctx, "tell", none{})
		})
		enginetest.Activity(e.T, reg, "tell", func(ctx context.Context, _ none) (string, error) {
			value, _ := ctx.Value(contextKey{}).(string)
			return value, nil
		})
		enginetest.Activity(e.T, reg, "begin", func(ctx context.Context, _ none) (none, error) {
			_, err := client.StartNamed[string](ctx, c, "other", none{}, client.WithID("other"), client.WithIDPolicy(client.UseExisting))
			return none{}, err
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			return orchestration.CallActivityNamed[none](ctx, "begin", none{})
		})
		rt := e.Start(reg)
		c, err := rt.Client(client.Options{})
		if err != nil {
			e.T.Fatal(err)
		}
		h, err := client.StartNamed[none](context.WithValue(e.T.Context(), contextKey{}, "r-1"), c, "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		wait(e, h)
		other, err := client.Lookup[string](e.T.Context(), c, "other")
		if err != nil {
			e.T.Fatal(err)
		}
		if got := wait(e, other); got != "r-1" {
			e.T.Errorf("its activity saw %q", got)
		}
	})
}

// A header that is not allowed is refused at the door.
func TestBadHeaderIsRefused(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		c := e.Client(client.Options{})
		for name, bad := range map[string]struct {
			key, value string
			want       error
		}{
			"no key":       {"", "v", client.ErrInvalid},
			"reserved":     {"perdure.trace", "v", client.ErrInvalid},
			"long key":     {strings.Repeat("k", 513), "v", client.ErrInvalid},
			"no UTF-8 key": {"\xff", "v", client.ErrInvalid},
			"no UTF-8":     {"k", "\xff", client.ErrInvalid},
			"NUL":          {"k", "\x00", client.ErrInvalid},
			"too large":    {"k", strings.Repeat("v", header.MaxBytes), client.ErrTooLarge},
		} {
			option := client.WithHeader(bad.key, bad.value)
			_, started := client.StartNamed[none](e.T.Context(), c, "main", none{}, option)
			for call, err := range map[string]error{
				"start": started, "raise": c.Raise(e.T.Context(), "main", "go", 1, option), "cancel": c.Cancel(e.T.Context(), "main", "", option),
			} {
				if !errors.Is(err, bad.want) {
					e.T.Errorf("%s with %s: %v, want %v", call, name, err, bad.want)
				}
			}
		}
		if err := c.Cancel(e.T.Context(), "main", "", nil); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("a nil option: %v", err)
		}
		if _, err := client.New(e.Store, client.Options{Propagators: []header.Propagator{nil}}); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("a nil propagator: %v", err)
		}
		if _, err := runtime.Start(e.T.Context(), e.Store, runtime.NewRegistry(), runtime.Options{Propagators: []header.Propagator{nil}}); !errors.Is(err, runtime.ErrInvalid) {
			e.T.Errorf("a nil propagator of a node: %v", err)
		}
	})
}

// The info of an attempt has a header of its own.
func TestInfoHeaderIsACopy(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.ReplaceNamed(e, "work", func(ctx context.Context, _ none) (bool, error) {
			first := activity.GetInfo(ctx).Header
			clear(first)
			return maps.Equal(activity.GetInfo(ctx).Header, header.Map{"k": "v"}), nil
		})
		code := orchestration.Define("main", func(ctx *octx, _ none) (bool, error) {
			return orchestration.CallActivityNamed[bool](ctx, "work", none{})
		})
		h := orchestrationtest.Start(e, code, none{}, client.WithHeader("k", "first"), client.WithHeader("k", "v"))
		if same, err := h.Wait(e.Context()); !same || err != nil {
			t.Errorf("a change of one copy shows in another: %v", err)
		}
	})
}
