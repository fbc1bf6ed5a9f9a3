package orchestrationtest_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// histories returns two files with a history each, of one orchestration.
func histories(t *testing.T, code func(*orchestration.Context, int) (string, error)) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		for n := range 2 {
			h := orchestrationtest.Start(e, code, n)
			if _, err := h.Wait(e.Context()); err != nil {
				t.Fatal(err)
			}
			f, err := h.ExportHistory(e.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := client.WriteHistory(&text, f); err != nil {
				t.Fatal(err)
			}
			files[fmt.Sprintf("%d/%d.history", n, n+1)] = &fstest.MapFile{Data: text.Bytes()}
		}
	})
	return files
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
