package bench

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Adding adds numbers by the update "add" until it gets the event "end".
func Adding(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	sum := 0
	orchestration.HandleUpdate(ctx, "add", func(_ *orchestration.Context, n int) (int, error) {
		sum += n
		return sum, nil
	})
	_, err := orchestration.Events[orchestration.None](ctx, "end").Receive(ctx)
	return sum, err
}

// Double returns twice its input.
func Double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// OneStep calls one activity, as W3 does.
func OneStep(ctx *orchestration.Context, n int) (int, error) {
	return orchestration.CallActivity(ctx, Double, n)
}

// BenchmarkUpdate reports the p50 of an update to its result in place of a mean, and that of a start with one activity to its result,
// which is W3. Both have an idle node on a file.
func BenchmarkUpdate(b *testing.B) {
	store, err := sqlite.Open(filepath.Join(b.TempDir(), "updates.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the end of a benchmark
	reg := runtime.NewRegistry()
	for _, err := range []error{
		runtime.AddOrchestration(reg, Adding), runtime.AddOrchestration(reg, OneStep), runtime.AddActivity(reg, Double),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
	rt, err := runtime.Start(b.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Shutdown(context.WithoutCancel(b.Context())) //nolint:errcheck // the end of a benchmark
	c, err := rt.Client(client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	h, err := client.Start(b.Context(), c, Adding, orchestration.None{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("update", func(b *testing.B) {
		reportMedian(b, func() error {
			_, err := client.Update[int](b.Context(), h, "add", 1)
			return err
		})
	})
	b.Run("W3", func(b *testing.B) {
		reportMedian(b, func() error {
			one, err := client.Start(b.Context(), c, OneStep, 1)
			if err == nil {
				_, err = one.Wait(b.Context())
			}
			return err
		})
	})
}

// reportMedian times each call.
func reportMedian(b *testing.B, call func() error) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e6, "p50-ms")
	b.ReportMetric(0, "ns/op")
}
