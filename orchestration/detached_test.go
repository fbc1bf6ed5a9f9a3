package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// byID returns the instance that has an ID.
func byID(e *enginetest.Engine, id string) provider.Instance {
	e.T.Helper()
	res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: id})
	if err != nil {
		e.T.Fatal(err)
	}
	return res.Instance
}

// named returns a handle of the instance that code has started under an ID, as soon as it is there.
func named[Out any](e *enginetest.Engine, c *client.Client, id string) client.Handle[Out] {
	e.T.Helper()
	var h client.Handle[Out]
	e.Until(id+" is there", func() bool {
		var err error
		h, err = client.Lookup[Out](e.T.Context(), c, id)
		return err == nil
	})
	return h
}

// Alone is a root that waits for an event.
func Alone(ctx *octx, _ string) (string, error) {
	got, err := orchestration.Events[string](ctx, "go").Receive(ctx)
	return ctx.Info().ParentID + "/" + ctx.Info().RootID + "/" + got, err
}

// An instance that code starts detached is a root. It outlives the starter and the scope that has started it.
func TestStartDetached(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "Alone", Alone)
		key := start(e, reg, func(ctx *octx, _ none) ([]orchestration.Instance, error) {
			scope, cancel := ctx.WithCancel()
			chosen := orchestration.StartDetachedNamed(scope, "Alone", "", orchestration.WithInstanceID("alone"))
			own := orchestration.StartDetachedNamed(ctx, "Alone", "")
			lost := orchestration.StartDetachedNamed(scope, "Alone", "", orchestration.WithInstanceID("lost"))
			a, err := chosen.Get(ctx)
			b, err2 := own.Get(ctx)
			cancel()
			if _, err := lost.Get(ctx); err != nil && !errors.Is(err, orchestration.ErrCancelled) {
				return nil, err
			}
			return []orchestration.Instance{a, b}, errors.Join(err, err2)
		}, none{})
		got := enginetest.Output[[]orchestration.Instance](e, key)
		for i, want := range []string{"alone", got[1].ID} {
			in := byID(e, want)
			if got[i].ID != want || got[i].Key != in.Key.String() || !in.Parent.Key.IsZero() {
				e.T.Errorf("started %+v, which is stored as %+v", got[i], in)
			}
			e.Raise(in.Key, "go", "on")
			if out := enginetest.Output[string](e, in.Key); out != "/"+want+"/on" {
				e.T.Errorf("%s ended with %q", want, out)
			}
		}
		e.Raise(byID(e, "lost").Key, "go", "on")
		enginetest.Output[string](e, byID(e, "lost").Key)
	})
}

// An ID in use is refused with a typed error, and its holder is left alone. A repeat of the request is no refusal.
func TestStartDetachedIDInUse(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "Alone", Alone)
		holder := e.Create("taken", "Alone", "")
		key := start(e, reg, func(ctx *octx, _ none) (bool, error) {
			for _, opts := range [][]orchestration.DetachedOption{{}, {orchestration.WithRequestID("mine")}} {
				opts = append(opts, orchestration.WithInstanceID("taken"))
				if _, err := orchestration.StartDetachedNamed(ctx, "Alone", "", opts...).Get(ctx); !errors.Is(err, orchestration.ErrExists) {
					return false, fmt.Errorf("a taken ID: %w", err)
				}
			}
			once := []orchestration.DetachedOption{orchestration.WithInstanceID("once"), orchestration.WithRequestID("r")}
			a, err := orchestration.StartDetachedNamed(ctx, "Alone", "", once...).Get(ctx)
			b, err2 := orchestration.StartDetachedNamed(ctx, "Alone", "", once...).Get(ctx)
			return a == b, errors.Join(err, err2)
		}, none{})
		if !enginetest.Output[bool](e, key) {
			e.T.Error("a repeat names another instance than the first start")
		}
		e.Raise(holder, "go", "untouched")
		if out := enginetest.Output[string](e, holder); out != "/taken/untouched" {
			e.T.Errorf("got %q", out)
		}
	})
}

// Starts and messages in the last turn of code go out with its end.
func TestReachWithTheEnd(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "Alone", Alone)
		last := func(ctx *octx, id string) {
			orchestration.StartDetachedNamed(ctx, "Alone", "", orchestration.WithInstanceID(id))
			orchestration.Raise(ctx, "holder", "go", id)
			orchestration.CancelInstance(ctx, "nobody", "")
		}
		enginetest.Orchestration(e.T, reg, "next", func(ctx *octx, id string) (none, error) {
			last(ctx, "by-"+id)
			if id == "end" {
				return none{}, nil
			}
			return none{}, orchestration.ContinueAsNew(ctx, "end")
		})
		holder := e.Create("holder", "Alone", "")
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			last(ctx, "by-failure")
			return none{}, errRefused
		}, none{})
		if in := e.WaitEnded(key); in.Status != provider.StatusFailed {
			e.T.Errorf("it is %v", in.Status)
		}
		if out := enginetest.Output[string](e, holder); out != "/holder/by-failure" {
			e.T.Errorf("got %q", out)
		}
		e.WaitEnded(e.Create("next", "next", "first"))
		for _, id := range []string{"by-failure", "by-first", "by-end"} {
			e.Terminate(byID(e, id).Key, "")
		}
		res, err := e.Store.DeadLetters(e.T.Context(), provider.DeadLettersRequest{})
		replies := 0
		for _, l := range res.Letters {
			if history.Kind(l.Kind) == history.KindReplyReceived {
				replies++
			}
		}
		if err != nil || replies != 3 { // a refusal with each end, and that of the event to the ended holder
			e.T.Errorf("%d refusals among the dead letters, %v", replies, err)
		}
	})
}

// told counts the ends that it is told of, and continues as new after each.
func told(ctx *octx, all []orchestration.Ended) ([]orchestration.Ended, error) {
	if len(all) == 0 && ctx.Info().Execution == 1 {
		for _, id := range []string{"a", "b", "c", "d"} {
			_, err := orchestration.StartDetachedNamed(ctx, "Alone", "", orchestration.WithInstanceID(id), orchestration.TellEnd("over")).Get(ctx)
			if err != nil {
				return nil, err
			}
		}
	}
	one, err := orchestration.Events[orchestration.Ended](ctx, "over").Receive(ctx)
	if err != nil {
		return nil, err
	}
	if all = append(all, one); one.ID == "d" {
		return all, nil
	}
	return nil, orchestration.ContinueAsNew(ctx, all)
}

// TestHazard64_EndsAreTold: every end of a detached instance is told to the current execution of the starter: an outcome, a termination,
// a deletion, and the end that follows a reset.
func TestHazard64_EndsAreTold(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "Alone", Alone)
		key := start(e, reg, told, nil)
		c := e.Client(client.Options{})
		of := func(id string) client.Handle[string] { return named[string](e, c, id) }
		e.Until("all are there", func() bool { return e.Get(key).HistoryLength == 9 })
		e.Raise(of("a").Key(), "go", "on")
		e.WaitEnded(of("a").Key())
		e.Terminate(of("b").Key(), "test")
		if _, err := e.Store.Delete(e.T.Context(), provider.DeleteRequest{Key: of("c").Key(), Force: true}); err != nil {
			e.T.Fatal(err)
		}
		a := of("a")
		reset(e, a, 2) // its event comes along
		e.WaitEnded(a.Key())
		d := of("d")
		reset(e, d, 2)
		e.Raise(d.Key(), "go", "on")
		ids := make([]string, 0, 5)
		all, err := soon(e, client.HandleOf[[]orchestration.Ended](c, "main", key))
		if err != nil {
			e.T.Fatal(err)
		}
		for _, one := range all {
			ids = append(ids, one.ID)
			if one.ID != "c" && one.Key != byID(e, one.ID).Key.String() {
				e.T.Errorf("told of %+v", one)
			}
		}
		if want := []string{"a", "b", "c", "a", "d"}; !slices.Equal(ids, want) {
			e.T.Errorf("told of %v, want %v", ids, want)
		}
	})
}

// soon returns how an instance ends that has nothing left to wait for.
func soon[Out any](e *enginetest.Engine, h client.Handle[Out]) (Out, error) {
	e.T.Helper()
	ctx, cancel := context.WithTimeout(e.T.Context(), 20*time.Second)
	defer cancel()
	return h.Wait(ctx)
}

// A run that continues as new keeps its listener, and nodes that would tell nobody do not get it.
func TestHazard64_ContinueAsNewKeepsTheLevel(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "run", func(ctx *octx, n int) (int, error) {
			if n < 3 {
				return 0, orchestration.ContinueAsNew(ctx, n+1)
			}
			_, err := orchestration.Events[string](ctx, "go").Receive(ctx)
			return n, err
		})
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			run, err := orchestration.StartDetachedNamed(ctx, "run", 0, orchestration.WithInstanceID("run"), orchestration.TellEnd("over")).Get(ctx)
			if err != nil {
				return "", err
			}
			if err := ctx.Sleep(time.Millisecond); err != nil {
				return "", err
			}
			got, err := orchestration.Events[orchestration.Ended](ctx, "over").Receive(ctx, orchestration.Within(time.Hour))
			return got.ID, errors.Join(err, sameInstance(got.Instance, run))
		}, none{})
		e.Until("the run waits", func() bool {
			in, _ := e.Store.Get(e.T.Context(), provider.GetRequest{ID: "run"})
			return in.Instance.Execution == 4
		})
		if in := byID(e, "run"); in.EngineLevel < 9 {
			e.T.Errorf("the run has level %d: an older node could end it and tell nobody", in.EngineLevel)
		}
		e.Raise(byID(e, "run").Key, "go", "on")
		if got := enginetest.Output[string](e, key); got != "run" {
			e.T.Errorf("told of %q", got)
		}
	})
}

func sameInstance(a, b orchestration.Instance) error {
	if a != b {
		return fmt.Errorf("%+v is not %+v", a, b)
	}
	return nil
}

// A detached start has attributes, events and a time limit. They are there with the instance, and its code gets the events before all others. Only then the
// start needs level 12.
func TestDetachedStartsHaveOptions(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "other", func(ctx *octx, _ int) (string, error) {
			first, err := orchestration.Events[string](ctx, "word").Receive(ctx)
			if err != nil {
				return "", err
			}
			second, err := orchestration.Events[string](ctx, "word").Receive(ctx)
			return first + " " + second, err
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, options bool) (string, error) {
			opts := []orchestration.DetachedOption{orchestration.WithInstanceID(ctx.Info().ID + "/other")}
			if options {
				opts = append(opts, orchestration.WithAttribute("region", "eu"), orchestration.WithTimeLimit(time.Hour),
					orchestration.WithEvent("word", "hello"), orchestration.WithEvent("word", "world"))
			}
			other, err := orchestration.StartDetachedNamed(ctx, "other", 1, opts...).Get(ctx)
			return other.ID, err
		})
		e.Start(reg)
		c := e.Client(client.Options{})
		id := enginetest.Output[string](e, e.Create("with", "main", true))
		h, err := client.Lookup[string](e.T.Context(), c, id)
		if err != nil {
			e.T.Fatal(err)
		}
		if got, err := h.Wait(e.T.Context()); err != nil || got != "hello world" {
			e.T.Errorf("%q, %v", got, err)
		}
		if d, err := h.Describe(e.T.Context()); err != nil || d.Attributes["region"] != "eu" || d.Limit == nil || d.Limit.Limit != time.Hour {
			e.T.Errorf("%+v, %v", d, err)
		}
		for id, options := range map[string]bool{"a": true, "b": false} {
			key := e.CreateWith(id, "main", options, replay.SettingsAt(replay.LevelOfExact))
			e.WaitEnded(key)
			if got := e.Get(key).EngineLevel; (got == replay.LevelOfLanguage) != options {
				e.T.Errorf("with options %v: level %d", options, got)
			}
		}
	})
}

// Options that cannot be are refused, and nothing starts.
func TestDetachedOptionsAreChecked(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		many := make([]orchestration.DetachedOption, 101)
		for i := range many {
			many[i] = orchestration.WithEvent("word", i)
		}
		for name, opts := range map[string][]orchestration.DetachedOption{
			"limit": {orchestration.WithTimeLimit(0)}, "name": {orchestration.WithEvent("", 1)}, "payload": {orchestration.WithEvent("word", func() {})},
			"attribute": {orchestration.WithAttribute("perdure.limit", "never")}, "events": many,
		} {
			enginetest.Orchestration(e.T, reg, name, func(ctx *octx, _ none) (string, error) {
				_, err := orchestration.StartDetachedNamed(ctx, "main", none{}, opts...).Get(ctx)
				return "", err
			})
		}
		e.Start(reg)
		for _, name := range []string{"limit", "name", "payload", "attribute", "events"} {
			if _, err := enginetest.Result[string](e, e.Create(name, name, none{}), nil); !errors.Is(err, orchestration.ErrInvalid) && !errors.Is(err, orchestration.ErrPayload) {
				e.T.Errorf("%s: %v", name, err)
			}
		}
	})
}
