package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// A worker whose activities do not come back goes on with ten of them. With the eleventh it shuts down, and ends with
// code 1 though that code never ends.
func TestWorkerEndsWithTheEleventhLeak(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hang.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var stderr bytes.Buffer
	args := []string{"worker", "--workload", workloadHang, "--grace-period", "10ms", "--exit-after", "300ms", "--attached", "--log-level", "error"}
	w, err := startProcess(command{binary(t), path, args}, &stderr, func(notice) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.kill() })
	c := client.New(store, client.Options{})
	for i := range 11 {
		h, err := client.Start(t.Context(), c, CallHang, orchestration.None{}, client.WithID(fmt.Sprint("hang-", i)))
		if err != nil {
			t.Fatal(err)
		}
		if i == 10 { // its worker may end before it is told
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err = h.Wait(ctx)
		cancel()
		if !errors.Is(err, orchestration.ErrTimeout) {
			t.Errorf("instance %d ended with %v", i, err)
		}
		select {
		case <-w.exited:
			t.Fatalf("ended after %d: %v\n%s", i+1, w.err, &stderr)
		default:
		}
	}
	select {
	case <-w.exited:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
	if code := w.cmd.ProcessState.ExitCode(); code != int(exitFailure) {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"code of 11 instances, the limit is 10", "shutting down takes longer than 300ms: the process ends"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("standard error lacks %q:\n%s", want, &stderr)
		}
	}
}

// A worker that shuts down in time because of leaks ends with code 1, too.
func TestExitCodeOfLeaks(t *testing.T) {
	t.Parallel()
	if code := codeOf(errors.Join(runtime.ErrTooManyLeaks, runtime.ErrLeaked)); code != exitFailure {
		t.Errorf("code %d", code)
	}
}

// The page of concurrency settings tells the binary's own.
func TestPageTellsTheLimitOfShutdown(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "concurrency-settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	if limit := newWorker(&app{}).Flags().Lookup("exit-after").DefValue; limit != "1m0s" || !strings.Contains(string(page), "| `perdure worker --exit-after` | 1 min |") {
		t.Errorf("the default is %s", limit)
	}
}
