package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/churn"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/runtime"
)

// built is the real binary. It is built once, and only if a test needs it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		os.Exit(int(process(testCode)))
	}
	leaktest.Main(m, func() {
		postgrestest.Stop()
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
	})
}

// testCode adds the workloads of tests to those of the program.
func testCode(o workerOptions, notices *notifier) (*runtime.Registry, error) {
	reg := runtime.NewRegistry()
	switch o.Workload {
	case workloadChurn:
		return reg, churn.Register(reg, churn.Log(o.Ledger))
	case workloadHang:
		return reg, errors.Join(runtime.AddOrchestration(reg, CallHang), runtime.AddActivity(reg, Hang))
	case workloadJobs:
		return reg, errors.Join(runtime.AddOrchestration(reg, Counting), runtime.AddOrchestration(reg, Brief))
	}
	return productCode(o, notices)
}

const (
	workloadChurn = "churn" // of the tests that kill workers
	workloadHang  = "hang"  // of the test of leaked work
	workloadJobs  = "jobs"  // of the tests that kill jobs
)

// startWorker starts the test binary as a worker.
func startWorker(t *testing.T, o workerOptions, stderr io.Writer, watch func(notice)) *workerProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := startProcess(self, o, stderr, watch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.kill() }) // if it still runs, the test has failed
	return w
}

func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		//nolint:usetesting // it must outlive the first test
		if built.dir, built.err = os.MkdirTemp("", "perdure-test-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(built.dir, "perdure"), ".").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "perdure")
}
