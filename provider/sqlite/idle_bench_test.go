//go:build unix

package sqlite

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkIdle measures the cost of an idle process: without a waiting call, with a waiting fetch, and with another process that
// has the file.
func BenchmarkIdle(b *testing.B) {
	for _, c := range []struct {
		name          string
		waiting, peer bool
	}{{"nobody waits", false, false}, {"fetch parked", true, false}, {"fetch parked beside another process", true, true}} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bench.db")
			p := openTest(b, path, Options{})
			if c.peer {
				startPeer(b, "stay", path)
			}
			if c.waiting {
				go func() { _, _ = p.FetchTurns(b.Context(), fetchOf("x", newToken(), time.Minute)) }()
				awaitWaiting(b, p.store.writer, 1)
			}
			idle(b, p, false)
			const pause = 500 * time.Millisecond
			timer := time.NewTimer(pause) // the first second after the opening is over
			<-timer.C
			used := cpuTime(b)
			b.ResetTimer()
			for range b.N {
				timer.Reset(pause)
				<-timer.C
			}
			b.ReportMetric(float64((cpuTime(b)-used).Microseconds())/1000/b.Elapsed().Seconds(), "cpu-ms/s")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkWake measures from when an idle process begins to store an instance until a fetch that waits in another idle
// process has it.
func BenchmarkWake(b *testing.B) {
	path := filepath.Join(b.TempDir(), "bench.db")
	p := openTest(b, path, Options{})
	other := startPeer(b, "one", path)
	b.ResetTimer()
	took := wakes(b, p, other, b.N, false)
	b.ReportMetric(float64(percentile(took, 50).Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(percentile(took, 95).Microseconds())/1000, "p95-ms")
}
