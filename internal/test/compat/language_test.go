package compat

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/language.db. It is frozen, because the store holds its histories.

// Patched waits behind a patch.
func Patched(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	if !ctx.Patched("greet") {
		return "old", nil
	}
	return orchestration.Events[string](ctx, "go").Receive(ctx)
}

// Served has handled an event and an update. A second update waits in its handler, and the function for its end.
func Served(ctx *orchestration.Context, start int) (int, error) {
	sum := start
	orchestration.HandleEvent(ctx, "add", func(_ *orchestration.Context, n int) error {
		sum += n
		return nil
	})
	orchestration.HandleUpdate(ctx, "change", func(ctx *orchestration.Context, wait bool) (int, error) {
		if wait {
			n, err := orchestration.Events[int](ctx, "go").Receive(ctx)
			sum += n
			return sum, err
		}
		sum *= 2
		return sum, nil
	})
	n, err := orchestration.Events[int](ctx, "stop").Receive(ctx)
	if n < 0 {
		return 0, orchestration.ContinueAsNew(ctx, sum)
	}
	return sum, err
}

// Closing has returned, while its handler waits for an activity.
func Closing(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	ctx.SetHandlerGrace(365 * 24 * time.Hour)
	ctx.SetStatus("closing")
	orchestration.HandleUpdate(ctx, "work", func(ctx *orchestration.Context, n int) (int, error) {
		return orchestration.CallActivity(ctx, Later, n, orchestration.WithQueue("later"))
	})
	return orchestration.Events[string](ctx, "stop").Receive(ctx)
}

// Headed waits for an activity that returns a part of the header.
func Headed(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	return orchestration.CallActivityNamed[string](ctx, "header", 0, orchestration.WithQueue("later"))
}

// TwoSteps waits for two events.
func TwoSteps(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	one, err := orchestration.Events[string](ctx, "one").Receive(ctx)
	if err != nil {
		return "", err
	}
	two, err := orchestration.Events[string](ctx, "two").Receive(ctx)
	return one + two, err
}

// versioned waits for two events, and learns of a newer version with the first.
func versioned(ctx *orchestration.Context, _ orchestration.None) (bool, error) {
	for _, name := range []string{"one", "two"} {
		if _, err := orchestration.Events[string](ctx, name).Receive(ctx); err != nil {
			return false, err
		}
	}
	return ctx.Info().NewerVersion, nil
}

// Various has given up an activity and a child, and another child has failed. It has rejected the update that came with its start.
func Various(ctx *orchestration.Context, _ orchestration.None) (string, error) {
	orchestration.HandleUpdate(ctx, "no", func(*orchestration.Context, int) (int, error) { return 0, nil },
		orchestration.Validate(func(int) error { return errDeclined }))
	scope, cancel := ctx.WithCancel()
	work := orchestration.StartActivity(scope, Later, 1, orchestration.WithQueue("later"))
	child := orchestration.StartOrchestration(scope, TwoSteps, orchestration.None{})
	if err := ctx.Sleep(10 * time.Millisecond); err != nil {
		return "", err
	}
	cancel()
	_, gaveUp := work.Get(ctx)
	_, stopped := child.Get(ctx)
	_, failed := orchestration.CallOrchestration(ctx, Declines, orchestration.None{})
	seen := fmt.Sprint(errors.Is(gaveUp, orchestration.ErrCancelled), errors.Is(stopped, orchestration.ErrCancelled), errors.Is(failed, errDeclined), " ")
	ctx.SetStatus("waits")
	word, err := orchestration.Events[string](ctx, "go").Receive(ctx)
	return seen + word, err
}

// Declines fails.
func Declines(*orchestration.Context, orchestration.None) (int, error) { return 0, errDeclined }

// languageRegistry returns the registry for recording, or for finishing the store. Only the latter serves the queue of the activities.
func languageRegistry(finishes bool) *runtime.Registry {
	reg := runtime.NewRegistry()
	queue := "nobody"
	if finishes {
		queue = "later"
	}
	header := func(ctx context.Context, _ int) (string, error) { return activity.GetInfo(ctx).Header["request"], nil }
	_ = errors.Join(
		runtime.AddOrchestration(reg, Patched), runtime.AddOrchestration(reg, Served), runtime.AddOrchestration(reg, Closing),
		runtime.AddOrchestration(reg, Headed), runtime.AddOrchestration(reg, TwoSteps), runtime.AddOrchestration(reg, Various), runtime.AddOrchestration(reg, Declines),
		runtime.AddError(reg, "declined", errDeclined),
		runtime.AddOrchestration(reg, orchestration.Define("versioned", versioned, orchestration.Version("1"))),
		runtime.AddOrchestration(reg, orchestration.Define("versioned", versioned, orchestration.Version("2"))),
		runtime.AddActivity(reg, Later, runtime.OnQueue(queue)),
		runtime.AddActivity(reg, activity.Define("header", header), runtime.OnQueue(queue)))
	return reg
}

// TestRecordLanguage records the store. Each instance stops where the comment of its code says.
func TestRecordLanguage(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path := filepath.Join(t.TempDir(), "language.db")
	n := open(t, path, languageRegistry(false))
	ctx, id := t.Context(), client.WithID
	length := func(want int64) func(client.Description) bool {
		return func(d client.Description) bool { return d.HistoryLength == want }
	}
	raise := func(id, name string, payload any) {
		t.Helper()
		if err := n.c.Raise(ctx, id, name, payload); err != nil {
			t.Fatal(err)
		}
	}
	text := must[client.Handle[string]](t)
	text(client.Start(ctx, n.c, Patched, orchestration.None{}, id("patched")))
	n.until(t, "patched", length(2))
	_, u, err := client.StartAndUpdate[int](ctx, n.c, Various, orchestration.None{}, "no", 1, id("various"), client.WithUpdateID("x"), client.WithDelay(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Wait(ctx); !errors.Is(err, client.ErrRejected) {
		t.Fatal(err)
	}
	n.until(t, "various", func(d client.Description) bool { return string(d.CustomStatus) == `"waits"` })

	for _, name := range []string{"served", "carried"} {
		served := must[client.Handle[int]](t)(client.Start(ctx, n.c, Served, 1, id(name)))
		raise(name, "add", 2)
		must[int](t)(client.Update[int](ctx, served, "change", false, client.WithUpdateID("done")))
		if name == "carried" {
			raise(name, "stop", -1)
			n.until(t, name, func(d client.Description) bool { return d.Execution == 2 && d.HistoryLength == 2 })
		}
		must[int](t)(client.Update[int](ctx, served, "change", true, client.WithUpdateID("open"), client.UntilAccepted()))
	}

	closing := text(client.Start(ctx, n.c, Closing, orchestration.None{}, id("closing")))
	must[int](t)(client.Update[int](ctx, closing, "work", 41, client.WithUpdateID("work"), client.UntilAccepted()))
	raise("closing", "stop", "over")
	n.until(t, "closing", func(d client.Description) bool { return d.Closing != nil })

	text(client.Start(ctx, n.c, Headed, orchestration.None{}, id("headed"), client.WithHeader("request", "r-1")))
	n.until(t, "headed", func(d client.Description) bool { return len(d.Activities) == 1 })

	steps := text(client.Start(ctx, n.c, TwoSteps, orchestration.None{}, id("steps")))
	raise("steps", "one", "a")
	n.until(t, "steps", length(2))
	must[client.Handle[string]](t)(client.Fork(ctx, steps, 3, "forked"))
	must[int64](t)(client.Reset(ctx, steps, 2, client.WithReason("recorded"), client.DropLater()))
	n.until(t, "forked", func(d client.Description) bool { return d.HistoryLength > 0 })

	must[client.Handle[bool]](t)(client.StartNamed[bool](ctx, n.c, "versioned", orchestration.None{}, id("versioned"), client.WithVersion("1")))
	raise("versioned", "one", "a")
	n.until(t, "versioned", length(2))
	n.record(t, path, "language")
}

func TestLanguageStoreFinishes(t *testing.T) {
	n := open(t, copied(t, "language.db"), languageRegistry(true))
	defer n.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, e := range []struct {
		id, name string
		payload  any
	}{
		{"patched", "go", "hello"},
		{"various", "go", "hello"},
		{"served", "go", 10},
		{"carried", "go", 10},
		{"steps", "one", "x"},
		{"steps", "two", "y"},
		{"forked", "two", "b"},
		{"versioned", "two", "b"},
	} {
		if err := n.c.Raise(ctx, e.id, e.name, e.payload); err != nil {
			t.Fatal(err)
		}
	}
	for update, want := range map[[2]string]int{
		{"served", "done"}: 6, {"served", "open"}: 16, {"carried", "done"}: 6, {"carried", "open"}: 16, {"closing", "work"}: 42,
	} {
		h, err := client.Lookup[any](ctx, n.c, update[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.UpdateOf[int](h, update[1]).Wait(ctx); got != want || err != nil {
			t.Errorf("update %v: %d, %v, want %d", update, got, err, want)
		}
	}
	for _, id := range []string{"served", "carried"} {
		if err := n.c.Raise(ctx, id, "stop", 0); err != nil {
			t.Fatal(err)
		}
	}
	n.ends(ctx, t, map[string]string{
		"patched": `"hello"`, "various": `"true true true hello"`, "served": `16`, "carried": `16`, "closing": `"over"`, "headed": `"r-1"`, "steps": `"xy"`, "forked": `"ab"`, "versioned": `true`,
	})
}
