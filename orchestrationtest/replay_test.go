package orchestrationtest_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// histories returns two files with a history each, of one orchestration.
func histories(t *testing.T, code func(*orchestration.Context, int) (string, error)) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		for n := range 2 {
			h := orchestrationtest.Start(e, code, n)
			if _, err := h.Wait(e.Context()); err != nil {
				t.Fatal(err)
			}
			files[fmt.Sprintf("%d/%d.history", n, n+1)] = file(t, exported(t, e, h.Handle))
		}
	})
	return files
}

// exported exports the history of the current execution.
func exported(t *testing.T, e *orchestrationtest.Env, h client.Handle[string]) client.HistoryFile {
	t.Helper()
	f, err := h.ExportHistory(e.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// file writes a history.
func file(t *testing.T, f client.HistoryFile) *fstest.MapFile {
	t.Helper()
	var text bytes.Buffer
	if err := client.WriteHistory(&text, f); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: text.Bytes()}
}

func registryOf[Out any](t *testing.T, code func(*orchestration.Context, int) (Out, error)) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, code); err != nil {
		t.Fatal(err)
	}
	return reg
}

// twoSleeps sleeps twice. Patched code panics between that.
func twoSleeps(patched bool) func(*orchestration.Context, int) (string, error) {
	return orchestration.Define("two sleeps", func(ctx *orchestration.Context, _ int) (string, error) {
		if err := ctx.Sleep(time.Hour); err != nil {
			return "", err
		}
		if patched && ctx.Patched("panics") {
			panic("not yet")
		}
		return "", ctx.Sleep(time.Hour)
	})
}

// Histories replay with the code that made them, and so does each beginning of them.
func TestReplay(t *testing.T) {
	t.Parallel()
	orchestrationtest.Replay(t, histories(t, newRenewal), registryOf(t, newRenewal))
	orchestrationtest.Replay(t, histories(t, twoSleeps(false)), registryOf(t, twoSleeps(false)), orchestrationtest.EveryPrefix())
}

// byID waits for an hour, for two in the instance "origin", and then for an event.
var byID = orchestration.Define("by ID", func(ctx *orchestration.Context, _ int) (string, error) {
	d := time.Hour
	if ctx.Info().ID == "origin" {
		d = 2 * time.Hour
	}
	if err := ctx.Sleep(d); err != nil {
		return "", err
	}
	name, err := orchestration.Events[string](ctx, "name").Receive(ctx)
	if err != nil {
		return "", err
	}
	return name, ctx.Sleep(time.Hour)
})

// Prefixes begin with what a node can deliver: not with a termination, and not before the point of a reset or fork, up to which the code has seen
// another identity.
func TestReplay_PrefixesThatNodesDeliver(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		ctx := e.Context()
		name := func(h client.Handle[string]) {
			if err := h.Raise(ctx, "name", "Ann"); err != nil {
				t.Fatal(err)
			}
			if got, err := h.Wait(ctx); got != "Ann" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
		}
		const event = 4 // the name, after start, timer and its end
		origin := orchestrationtest.Start(e, byID, 1, client.WithID("origin")).Handle
		name(origin)
		fork, err := client.Fork(ctx, origin, event, "fork")
		if err != nil {
			t.Fatal(err)
		}
		name(fork)
		if _, err := client.Reset(ctx, origin, event, client.DropLater()); err != nil {
			t.Fatal(err)
		}
		name(origin)
		files["fork"], files["reset"] = file(t, exported(t, e, fork)), file(t, exported(t, e, origin))

		terminated := orchestrationtest.Start(e, byID, 1).Handle
		e.Sleep(3 * time.Hour)
		if err := terminated.Terminate(ctx, "enough"); err != nil {
			t.Fatal(err)
		}
		f := exported(t, e, terminated)
		files["terminated"] = file(t, f)
		fired, err := history.Decode(event-1, f.Events[event-2])
		if err != nil || fired.Body.Kind() != history.KindTimerFired || len(f.Events) != event {
			t.Fatalf("%v, %v, in %d events", fired.Body.Kind(), err, len(f.Events))
		}
		fired.More = true // the turn has held the code
		f.Events[event-2] = history.Encode(nil, fired)
		files["terminated while the code was held"] = file(t, f)
	})
	orchestrationtest.Replay(t, files, registryOf(t, byID), orchestrationtest.EveryPrefix())
}
