package runtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func Double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func Chain(ctx *orchestration.Context, n int) (int, error) {
	total := 1
	for range n {
		v, err := orchestration.CallActivity(ctx, Double, total)
		if err != nil {
			return 0, err
		}
		total = v
	}
	if err := ctx.Sleep(10 * time.Millisecond); err != nil {
		return 0, err
	}
	return total, nil
}

func TestSmoke(t *testing.T) {
	store := memory.New(memory.Options{})
	defer store.Close()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Chain), runtime.AddActivity(reg, Double)); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key := provider.UUID(uuid.Must(uuid.NewV7()))
	_, err = store.Create(t.Context(), provider.CreateRequest{ID: "a", Key: key, Commit: provider.UUID(uuid.New()), Name: "Chain", EngineLevel: 1,
		Message: provider.NewMessage{Kind: 1, Payload: history.Encode(nil, history.Event{Body: &history.ExecutionStarted{Name: "Chain", Input: []byte("10"), Settings: replay.DefaultSettings()}})}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := store.Get(t.Context(), provider.GetRequest{Key: key, WaitEnded: true, Wait: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	out, err := history.DecodeOutcome(res.Instance.Result)
	t.Logf("%+v %s %v %+v", res.Instance.Status, out.Output, err, rt.Stats())
	if string(out.Output) != "1024" {
		t.Fatalf("%+v", res.Instance)
	}
	if err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
