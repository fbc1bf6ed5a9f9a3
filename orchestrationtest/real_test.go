package orchestrationtest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider/sqlite"
)

// A test in real time uses sockets and files, and all of the kit.
func TestRunRealTime(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer server.Close()
	get := activity.Define("get", func(ctx context.Context, url string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return "", err
		}
		res, err := server.Client().Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close() //nolint:errcheck // it was only read
		text, err := io.ReadAll(res.Body)
		return string(text), err
	})
	code := orchestration.Define("code", func(ctx *orchestration.Context, url string) (string, error) {
		text, err := orchestration.CallActivity(ctx, get, url)
		if err != nil {
			return "", err
		}
		name, err := orchestration.Events[string](ctx, "name").Receive(ctx)
		if err != nil {
			return "", err
		}
		end, err := orchestration.CallActivity(ctx, Hello, name)
		return text + " " + end, err
	})
	orchestrationtest.RunRealTime(t, store, func(e *orchestrationtest.Env) {
		orchestrationtest.AddActivity(e, get)
		calls := orchestrationtest.Replace(e, Hello, func(_ context.Context, name string) (string, error) { return name, nil })
		h := orchestrationtest.Start(e, code, server.URL)
		e.After(10*time.Millisecond, func() error { return h.Raise(e.Context(), "name", "Ann") })
		if got, err := h.Wait(e.Context()); got != "hello Ann" || err != nil || len(calls.Calls()) != 1 {
			t.Errorf("%q, %v, %+v", got, err, calls.Calls())
		}
		e.Sleep(time.Millisecond)
	})
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
