package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

// newNode returns a node with a fresh file, and a function that closes both.
func newNode(tb testing.TB) (n *workload.Node, end func()) {
	tb.Helper()
	store, err := sqlite.Open(filepath.Join(tb.TempDir(), "bench.db"))
	if err != nil {
		tb.Fatal(err)
	}
	return onStore(tb, store)
}

func onStore(tb testing.TB, store provider.Provider) (n *workload.Node, end func()) {
	tb.Helper()
	n, err := workload.NewNode(tb.Context(), store, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(errors.Join(err, store.Close()))
	}
	return n, func() {
		err := n.Close(context.WithoutCancel(tb.Context()))
		enginetest.CheckLeases(tb, store)
		if err := errors.Join(err, store.Close()); err != nil {
			tb.Error(err)
		}
	}
}

func commits(store provider.Provider) int64 { return provider.CountersOf(store).Commits }

// The workloads that take seconds. The command perdure-bench runs all of them, also on Postgres.

func BenchmarkW1(b *testing.B)  { benchmark(b, "w1") }
func BenchmarkW2a(b *testing.B) { benchmark(b, "w2a") }
func BenchmarkW2b(b *testing.B) { benchmark(b, "w2b") }
func BenchmarkW3(b *testing.B)  { benchmark(b, "w3") }
func BenchmarkW4(b *testing.B)  { benchmark(b, "w4") }
func BenchmarkW5(b *testing.B)  { benchmark(b, "w5") }
func BenchmarkW6(b *testing.B)  { benchmark(b, "w6") }

func benchmark(b *testing.B, name string) {
	b.Helper()
	for _, w := range workload.Find(name) {
		for _, size := range w.Sizes {
			b.Run(fmt.Sprint(size), func(b *testing.B) {
				for b.Loop() {
					measure(b, w, size)
				}
			})
		}
	}
}

func measure(b *testing.B, w workload.Workload, size int) {
	b.Helper()
	n, end := newNode(b)
	defer end()
	s := w.Size
	s.N = size
	before := commits(n.Store)
	r, err := w.Run(b.Context(), n, s)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op") // not shown, since it includes creating the store
	b.ReportMetric(r.Took.Seconds(), "s")
	b.ReportMetric(r.PerSecond(), w.Unit+"/s")
	b.ReportMetric(r.Percentile(50).Seconds()*1e3, "p50-ms")
	b.ReportMetric(r.Percentile(99).Seconds()*1e3, "p99-ms")
	b.ReportMetric(float64(commits(n.Store)-before)/float64(r.Steps), "commits/step")
	for _, f := range r.Figures {
		b.ReportMetric(f.Value, strings.ReplaceAll(f.Name, " ", "-")+"-"+f.Unit)
	}
}
