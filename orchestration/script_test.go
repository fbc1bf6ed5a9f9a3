package orchestration_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// script is code of an orchestration that notes what it does.
type script func(ctx *octx, note func(format string, args ...any)) error

// main returns the orchestration of a script. Its output is what the script has noted, each note after the hours since the start, and at last
// how the script has ended.
func (code script) main() func(*octx, none) ([]string, error) {
	return func(ctx *octx, _ none) ([]string, error) {
		var notes []string
		began := ctx.Now()
		orchestration.HandleQuery(ctx, "notes", func(none) (int, error) { return len(notes), nil })
		err := code(ctx, func(format string, args ...any) {
			notes = append(notes, fmt.Sprintf("%dh ", int(ctx.Now().Sub(began).Hours()))+fmt.Sprintf(format, args...))
		})
		return append(notes, kindOf(err)), nil
	}
}

// kindOf returns "ok", the kind of an error of the engine, or the text of another one.
func kindOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, orchestration.ErrCancelled):
		return "cancelled"
	case errors.Is(err, orchestration.ErrTimeout):
		return "timeout"
	case errors.Is(err, orchestration.ErrInvalid):
		return "invalid"
	}
	return err.Error()
}

// inEveryWay runs a script with the cache on, off and with eviction. It also does what inKit does.
func (code script) inEveryWay(t *testing.T, want ...string) {
	t.Helper()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := start(e, registry(e.T), code.main(), none{})
		if diff := cmp.Diff(want, enginetest.Output[[]string](e, key)); diff != "" {
			e.T.Error(diff)
		}
	})
	code.inKit(t, 0, want...)
}

// inKit runs a script, asks it meanwhile, and cancels it some time after the start unless that is zero. Each turn is replayed. Then each prefix
// of the history is.
func (code script) inKit(t *testing.T, cancel time.Duration, want ...string) {
	t.Helper()
	var text bytes.Buffer
	main := orchestration.Define("script", code.main())
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		h := orchestrationtest.Start(e, main, none{})
		e.After(100*time.Minute, func() error {
			_, err := client.Query[int](e.Context(), h.Handle, "notes", none{})
			return err
		})
		if cancel > 0 {
			e.After(cancel, func() error { return h.Cancel(e.Context(), "enough") })
		}
		got, err := h.Wait(e.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
		f, err := h.ExportHistory(e.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.WriteHistory(&text, f); err != nil {
			t.Fatal(err)
		}
	})
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, main); err != nil {
		t.Fatal(err)
	}
	orchestrationtest.Replay(t, fstest.MapFS{"one.history": {Data: text.Bytes()}}, reg, orchestrationtest.EveryPrefix())
}
