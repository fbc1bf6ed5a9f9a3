package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Sell is a service's own orchestration. Its activity has the same name as in the documentation.
func Sell(ctx *orchestration.Context, in orchestration.None) (string, error) {
	return orchestration.CallActivityNamed[string](ctx, "Shop.Charge", in)
}

// The demo refuses the database of a service, where its made-up payments could be taken for real ones.
func TestDemoRefusesTheDatabaseOfAService(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "service.db")
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Sell); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := clienttest.New(t, store, client.Options{})
	if _, err := client.Start(t.Context(), c, Sell, orchestration.None{}, client.WithID("order-1")); err != nil {
		t.Fatal(err)
	}
	for { // until the service has scheduled the payment
		d, err := c.Describe(t.Context(), "order-1")
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Activities) > 0 {
			break
		}
	}
	if err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary(t), "demo", "--lease", "500ms", "--db", path)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != int(exitUsage) || !strings.Contains(string(out), "was not made by the demo") {
		t.Errorf("the demo ran on the database of a service: %v\n%s", err, out)
	}
	d, err := c.Describe(t.Context(), "order-1")
	if err != nil || d.Status != client.StatusRunning || len(d.Activities) != 1 || d.Activities[0].Deliveries != 0 {
		t.Errorf("the payment was touched: %+v %v", d, err)
	}
	if all := instances(t, c); all != 1 {
		t.Errorf("there are %d instances, must be the service's one", all)
	}
}

// markAsDemo marks a database as made by the demo.
func markAsDemo(t *testing.T, store provider.Provider) {
	t.Helper()
	if _, err := client.Start(t.Context(), clienttest.New(t, store, client.Options{}), mark, orchestration.None{}, client.WithID(markID)); err != nil {
		t.Fatal(err)
	}
}

// A worker of the demo checks the mark itself.
func TestDemoWorkerRefusesTheDatabaseOfAService(t *testing.T) {
	t.Parallel()
	path := fixture(t)
	var stderr bytes.Buffer
	w := startWorker(t, workerOptions{DB: path, Workload: workloadDemo, Ledger: path + "-ledger", Lease: demoLease}, &stderr, func(notice) {})
	<-w.exited
	if code := w.cmd.ProcessState.ExitCode(); code != int(exitUsage) || !strings.Contains(stderr.String(), "was not made by the demo") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

func instances(t *testing.T, c *client.Client) (n int) {
	t.Helper()
	for _, err := range c.All(t.Context(), client.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// No command runs work of a database.
func TestNoCommandRunsWork(t *testing.T) {
	t.Parallel()
	for _, c := range newRoot(&app{}).Commands() {
		if c.Hidden && c.Name() != "bench" || c.Name() == "worker" {
			t.Errorf("there is a command %s", c.Name())
		}
	}
}
