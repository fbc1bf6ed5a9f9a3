package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// CallHang gives up after a moment.
func CallHang(ctx *orchestration.Context, in orchestration.None) (orchestration.None, error) {
	return orchestration.CallActivity(ctx, Hang, in, orchestration.WithStartToCloseTimeout(10*time.Millisecond))
}

// Hang ignores its context.
func Hang(context.Context, orchestration.None) (orchestration.None, error) { select {} }

// A worker continues with ten activities that never return. With the eleventh it shuts down and exits with code 1,
// although that code still runs.
func TestWorkerEndsWithTheEleventhLeak(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hang.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var stderr bytes.Buffer
	o := workerOptions{
		DB: path, Workload: workloadHang, Lease: demoLease, GracePeriod: 10 * time.Millisecond, ExitAfter: 300 * time.Millisecond, LogLevel: "error",
	}
	w := startWorker(t, o, &stderr, func(notice) {})
	c := clienttest.New(t, store, client.Options{})
	for i := range 11 {
		h, err := client.Start(t.Context(), c, CallHang, orchestration.None{}, client.WithID(fmt.Sprint("hang-", i)))
		if err != nil {
			t.Fatal(err)
		}
		if i == 10 { // the worker may exit before it reports this one
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
	case <-time.After(time.Minute):
		t.Fatal("the worker still runs")
	}
	if code := w.cmd.ProcessState.ExitCode(); code != int(exitFailure) {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"code of 11 instances, the limit is 10", "shutdown took longer than 300ms: exiting"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("standard error lacks %q:\n%s", want, &stderr)
		}
	}
}

// A worker that shuts down in time because of leaks exits with code 1, too.
func TestExitCodeOfLeaks(t *testing.T) {
	t.Parallel()
	if code := codeOf(errors.Join(runtime.ErrTooManyLeaks, runtime.ErrLeaked)); code != exitFailure {
		t.Errorf("code %d", code)
	}
}
