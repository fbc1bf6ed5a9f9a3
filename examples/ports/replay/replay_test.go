package replay_test

import (
	"bytes"
	"errors"
	"testing"
	"testing/fstest"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/ports/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

func registry(t *testing.T, code func(*orchestration.Context, string) (orchestration.None, error)) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, code), runtime.AddActivity(reg, replay.Pack), runtime.AddActivity(reg, replay.Mail)); err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestNewCodeMeetsOldHistories(t *testing.T) {
	var text bytes.Buffer
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, replay.Pack)
		orchestrationtest.AddActivity(e, replay.Mail)
		h := orchestrationtest.Start(e, replay.Old, "7")
		if _, err := h.Wait(e.Context()); err != nil {
			t.Fatal(err)
		}
		if err := replay.Export(e.Context(), e.Client(), h.ID(), &text); err != nil {
			t.Fatal(err)
		}
	})
	files := fstest.MapFS{"7.history": &fstest.MapFile{Data: text.Bytes()}} // in a service: os.DirFS("testdata/histories")
	orchestrationtest.Replay(t, files, registry(t, replay.Old), orchestrationtest.EveryPrefix())
	orchestrationtest.Replay(t, files, registry(t, replay.Right), orchestrationtest.EveryPrefix())

	for file, err := range client.ReadHistories(&text) {
		if err != nil {
			t.Fatal(err)
		}
		err = runtime.Replay(t.Context(), registry(t, replay.Wrong), file)
		if _, differs := errors.AsType[*runtime.ReplayError](err); !differs {
			t.Errorf("the wrong code replays: %v", err)
		}
	}
}
