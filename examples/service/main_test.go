package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestService(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener, filepath.Join(t.TempDir(), "service.db")) }()

	ask := func(method, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+listener.Addr().String()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, strings.TrimSpace(string(body))
	}
	for range 2 {
		if status, body := ask(http.MethodPost, "/welcome/ann"); status != http.StatusAccepted {
			t.Errorf("welcome returned %d %s", status, body)
		}
	}
	status, body := ask(http.MethodGet, "/health")
	if status != http.StatusOK || body != "0 blocked, 0 dead letters" {
		t.Errorf("health returned %d %s", status, body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
