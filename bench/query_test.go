package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Counting counts events until one is zero. The query "n" returns the count.
func Counting(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	n := 0
	orchestration.HandleQuery(ctx, "n", func(orchestration.None) (int, error) { return n, nil })
	for {
		event, err := orchestration.Events[int](ctx, "event").Receive(ctx)
		if err != nil || event == 0 {
			return n, err
		}
		n++
	}
}

// openPlace opens the store at a path, or at a URL with a schema.
func openPlace(ctx context.Context, place string) (provider.Provider, error) {
	if url, schema, ok := strings.Cut(place, " "); ok {
		return postgres.OpenWith(ctx, url, postgres.Options{Schema: schema})
	}
	return sqlite.Open(place) //nolint:contextcheck // opening a file takes none
}

func serveCounting(ctx context.Context, store provider.Provider) (*runtime.Runtime, error) {
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Counting); err != nil {
		return nil, err
	}
	return runtime.Start(ctx, store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
}

const placeVariable = "PERDURE_BENCH_QUERIES"

// The process of the node of BenchmarkQuery. It ends with its standard input.
func TestServeQueries(t *testing.T) {
	place := os.Getenv(placeVariable)
	if place == "" {
		t.Skip("it is a process of BenchmarkQuery")
	}
	store, err := openPlace(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := serveCounting(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(os.Stdout, "ready"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := errors.Join(rt.Shutdown(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}

// serveElsewhere starts the node in a process of its own.
func serveElsewhere(b *testing.B, place string) (stop func()) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestServeQueries$")
	cmd.Env = append(os.Environ(), placeVariable+"="+place)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		b.Fatalf("the process says %q, %v", line, err)
	}
	return func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
}

// BenchmarkQuery reports the p50 of a query: in the process that has the execution, from another process, and of an execution that has
// ended after 1,000 events.
func BenchmarkQuery(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			place := filepath.Join(b.TempDir(), "queries.db")
			if kind == "postgres" {
				url := postgrestest.URL(b)
				place = url + " " + postgrestest.Schema(b, url)
			}
			store, err := openPlace(b.Context(), place)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close() //nolint:errcheck // the end of a benchmark
			b.Run("same process", func(b *testing.B) { benchQueries(b, store, "", 10) })
			b.Run("other process", func(b *testing.B) { benchQueries(b, store, place, 10) })
			b.Run("cold, 1000 events", func(b *testing.B) { benchQueries(b, store, "", 997) })
		})
	}
}

// benchQueries asks an instance that has received some events. One with many has ended.
func benchQueries(b *testing.B, store provider.Provider, place string, events int) {
	b.Helper()
	c := clienttest.New(b, store, client.Options{})
	if place != "" {
		defer serveElsewhere(b, place)()
	} else {
		rt, err := serveCounting(b.Context(), store)
		if err != nil {
			b.Fatal(err)
		}
		defer rt.Shutdown(context.WithoutCancel(b.Context())) //nolint:errcheck // the end of a benchmark
		c = clienttest.Of(b, rt, client.Options{})
	}
	h, err := client.Start(b.Context(), c, Counting, orchestration.None{})
	for i := 0; i < events && err == nil; i++ {
		err = h.Raise(b.Context(), "event", 1)
	}
	if err == nil && events > 100 {
		if err = h.Raise(b.Context(), "event", 0); err == nil {
			_, err = h.Wait(b.Context())
		}
	}
	for n := 0; n < events && err == nil; {
		n, err = client.Query[int](b.Context(), h, "n", nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if n, err := client.Query[int](b.Context(), h, "n", nil); err != nil || n != events {
			b.Fatalf("%d, %v", n, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "ms-p99")
}
