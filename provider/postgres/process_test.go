package postgres

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	process "os/exec"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// The environment that makes this test's binary a worker of a store.
const (
	workerURL    = "PERDURE_TEST_WORKER_URL"
	workerSchema = "PERDURE_TEST_WORKER_SCHEMA"
	workerHolds  = "PERDURE_TEST_WORKER_HOLDS" // leases, instead of running a node
)

func TestMain(m *testing.M) {
	if url := os.Getenv(workerURL); url != "" {
		do := work
		if os.Getenv(workerHolds) != "" {
			do = holdLeases
		}
		if err := do(context.Background(), url, os.Getenv(workerSchema)); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m, postgrestest.Stop)
}

// Echo is an orchestration.
func Echo(_ *orchestration.Context, n int) (int, error) { return n, nil }

// work runs a node until its input ends.
func work(ctx context.Context, url, schema string) error {
	store, err := OpenWith(ctx, url, Options{Schema: schema})
	if err != nil {
		return err
	}
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Echo); err != nil {
		return err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := rt.Shutdown(ctx); err != nil {
		return err
	}
	return store.Close()
}

// startWorker starts this binary as another process on a schema, and waits until it reports that it is ready. It ends
// when in is closed.
func startWorker(t *testing.T, url, schema string, env ...string) (worker *process.Cmd, in io.Closer) {
	t.Helper()
	worker = process.CommandContext(t.Context(), os.Args[0])
	worker.Env = append(append(os.Environ(), workerURL+"="+url, workerSchema+"="+schema), env...)
	worker.Stderr = os.Stderr
	in, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return worker, in
}

// A client here starts an orchestration and waits for its result. A worker in another process runs it. On an idle
// machine half of them take less than 5 ms. A second means a poll.
func TestWakeUpCrossesProcesses(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	c := clienttest.New(t, opened(t, url, Options{Schema: schema}), client.Options{Logger: silent})
	worker, in := startWorker(t, url, schema)
	var took []time.Duration
	for n := range 50 {
		began := time.Now()
		h, err := client.Start(t.Context(), c, Echo, n)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.Wait(t.Context()); err != nil || got != n {
			t.Fatalf("got %d, %v", got, err)
		}
		took = append(took, time.Since(began))
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := worker.Wait(); err != nil {
		t.Error(err)
	}
	slices.Sort(took)
	p50 := took[len(took)/2]
	t.Logf("started here, run there, waited for here: p50 %v, longest %v", p50, took[len(took)-1])
	if limit := fallback / 5; p50 > limit {
		t.Errorf("half of them took more than %v", limit)
	}
}
