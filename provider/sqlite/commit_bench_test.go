package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
)

// BenchmarkCommit is a transaction of many hand-off steps, from when the writer takes them until all calls return.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			p := openTest(b, filepath.Join(b.TempDir(), "bench.db"), Options{})
			chains, results := make([]*chain, size), make(chan error, size)
			for i := range chains {
				chains[i] = startChain(b, p, fmt.Sprint(i))
			}
			before := p.store.writer.commits.Load()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				release := hold(b, p)
				for _, c := range chains {
					go func() { results <- c.step(b) }()
				}
				await(b, "the batch", func() bool { return queued(p) == size })
				b.StartTimer()
				release()
				for range chains {
					if err := <-results; err != nil {
						b.Fatal(err)
					}
				}
			}
			steps := float64(b.N * size)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/steps, "ns/step")
			b.ReportMetric(float64(p.store.writer.commits.Load()-before)/float64(b.N), "commits/op")
		})
	}
}
