package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// On a full disk the calls of an engine are refused as not having happened. No work fails, and all continues when there
// is room.
func TestEngineOnAFullFileGoesOnWithRoom(t *testing.T) {
	store, err := sqlite.OpenWith(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	e := enginetest.On(t, store, runtime.Options{})
	reg := runtime.NewRegistry()
	enginetest.Activity(t, reg, "grow", func(_ context.Context, n int) (string, error) {
		return fmt.Sprintf("%08000d", n), nil
	})
	enginetest.Orchestration(t, reg, "growing", func(ctx *orchestration.Context, n int) (int, error) {
		total := 0
		for range n {
			s, err := orchestration.CallActivityNamed[string](ctx, "grow", n)
			if err != nil {
				return 0, err
			}
			total += len(s)
		}
		return total, nil
	})
	keys := make([]provider.UUID, 10)
	for i := range keys {
		keys[i] = e.Create(fmt.Sprint("growing-", i), "growing", 20)
	}
	if err := sqlite.LimitPages(t.Context(), store, 30); err != nil {
		t.Fatal(err)
	}
	rt := e.Start(reg)
	e.Until("the file to be full", func() bool { return rt.Stats().StorageErrors >= 3 })
	_, err = store.Create(t.Context(), provider.CreateRequest{
		ID: "refused", Key: enginetest.NewID(), Commit: enginetest.NewID(), Name: "growing",
		Message: provider.NewMessage{Payload: make([]byte, 1<<20)},
	})
	failed, ok := errors.AsType[*provider.Error](err)
	if !ok || failed.Outcome != provider.OutcomeNothing || !failed.Retryable {
		t.Errorf("error %v: want one that says nothing happened and may be repeated", err)
	}
	if err := sqlite.LimitPages(t.Context(), store, 0); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if got := enginetest.Output[int](e, key); got != 20*8000 {
			t.Errorf("answered %d", got)
		}
	}
	if s := rt.Stats(); s.TurnsFailed != 0 || s.AttemptsFailed != 0 {
		t.Errorf("%+v", s)
	}
}
