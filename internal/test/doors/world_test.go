package doors_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// These patterns match text that differs between runs or machines. Each has a placeholder.
var (
	anyKey    = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anySymbol = regexp.MustCompile(`github\.com/perdure/perdure/internal/test/doors_test\.[\w.\[\]]+`)
)

func steady(text string) string {
	return anySymbol.ReplaceAllString(anyKey.ReplaceAllString(text, "KEY"), "SYMBOL")
}

// memoryStore makes an empty store.
func memoryStore(t *testing.T) *memory.Provider {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// world is a store and its file.
type world struct {
	*sqlite.Provider

	path string
}

// newWorld makes a store with a running, a completed and a failed instance.
func newWorld(t *testing.T) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "doors.db")
	store, err := sqlite.OpenWith(path, sqlite.Options{Synchronous: sqlite.Off, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil && !errors.Is(err, provider.ErrClosed) {
			t.Error(err)
		}
	})
	c := clienttest.New(t, store, client.Options{Logger: quiet()})
	reg := runtime.NewRegistry()
	ok := orchestration.Define("ok", func(*orchestration.Context, string) (string, error) { return "well", nil })
	bad := orchestration.Define("bad", func(*orchestration.Context, string) (string, error) { return "", errors.New("out of stock") })
	if err := errors.Join(runtime.AddOrchestration(reg, ok), runtime.AddOrchestration(reg, bad)); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(run(t.Context(), c, ok, "done"), run(t.Context(), c, bad, "failed"), rt.Shutdown(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StartNamed[string](t.Context(), c, "Checkout", "", client.WithID("open")); err != nil {
		t.Fatal(err)
	}
	return &world{store, path}
}

// run starts an instance and waits for its end.
func run(ctx context.Context, c *client.Client, fn func(*orchestration.Context, string) (string, error), id string) error {
	h, err := client.Start(ctx, c, fn, "", client.WithID(id))
	if err != nil {
		return err
	}
	if _, err = h.Wait(ctx); errors.Is(err, client.ErrFailed) {
		return nil
	}
	return err
}
