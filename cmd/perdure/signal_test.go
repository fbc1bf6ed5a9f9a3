package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
)

// packingWorker returns a worker process that has begun to pack an order.
func packingWorker(t *testing.T, path string, lease time.Duration) (w *workerProcess, store *sqlite.Provider, stderr *bytes.Buffer) {
	t.Helper()
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	markAsDemo(t, store)
	o, err := order.Parse([]byte(defaultOrder))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Start(t.Context(), clienttest.New(t, store, client.Options{}), order.Process, o, client.WithID("order")); err != nil {
		t.Fatal(err)
	}
	packing := make(chan struct{}, 100)
	stderr = &bytes.Buffer{}
	worker := workerOptions{DB: path, Workload: workloadDemo, Ledger: path + "-ledger", Lease: lease, LogLevel: "error"}
	w = startWorker(t, worker, stderr, func(n notice) {
		if n.Progress != nil && n.Progress.Activity == packActivity {
			packing <- struct{}{}
		}
	})
	select {
	case <-packing:
	case <-w.exited:
		t.Fatalf("%v\n%s", w.unexpected("before it packed"), stderr)
	}
	return w, store, stderr
}

// After the first signal the running activity finishes, and its orchestration continues elsewhere.
func TestSignalShutsDownInPhases(t *testing.T) {
	t.Parallel()
	w, store, stderr := packingWorker(t, filepath.Join(t.TempDir(), "signal.db"), 3*time.Second) // a busy worker renews it in time
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-w.exited
	if w.err != nil {
		t.Errorf("the worker must end well: %v\n%s", w.err, stderr)
	}
	d, err := clienttest.New(t, store, client.Options{}).Describe(t.Context(), "order")
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Activities) > 0 {
		t.Errorf("the activity must have had the time to end: %+v", d.Activities)
	}
	enginetest.CheckLeases(t, store)
}

// The second signal exits at once.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	w, _, _ := packingWorker(t, filepath.Join(t.TempDir(), "signal.db"), time.Minute) // packing takes more than a minute with this lease
	begun := time.Now()
	// Two different signals, since a pending signal swallows another of its kind.
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		if err := w.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	<-w.exited
	if exit, ok := errors.AsType[*exec.ExitError](w.err); !ok || exit.ExitCode() != int(exitInterrupted) {
		t.Errorf("the worker ended with %v, must end with exit code %d", w.err, exitInterrupted)
	}
	if took := time.Since(begun); took > 30*time.Second { // packing lasts more than a minute
		t.Errorf("it took %v", took)
	}
}

// Operator commands work from another process while a service runs.
func TestOperatingBesideAWorker(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "live.db")
	w, store, stderr := packingWorker(t, path, time.Minute)
	operate := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), binary(t), append(args, "--db", path)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	mustSay(t, operate("list"), "order", "perdure-demo.Process", "Running")
	mustSay(t, operate("show", "order"), "perdure-demo.Pack on queue default: Running, attempt 1")
	operate("cancel", "order", "--reason", "out of tape")
	h, err := client.Lookup[order.Receipt](t.Context(), clienttest.New(t, store, client.Options{}), "order")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(t.Context()); !errors.Is(err, orchestration.ErrCancelled) {
		t.Errorf("the order ended with %v, must be cancelled", err)
	}
	mustSay(t, operate("history", "order"), "CancelRequested", "out of tape", "ActivityCancelRequested", "perdure-demo.Release", "ExecutionCancelled")
	if err := w.stop(); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
	enginetest.CheckLeases(t, store)
}
