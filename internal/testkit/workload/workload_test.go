package workload

import (
	"slices"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	r := Result{}
	if got := r.Percentile(99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for i := range 200 {
		r.Latencies = append(r.Latencies, time.Duration(200-i))
	}
	for p, want := range map[float64]time.Duration{0: 1, 50: 100, 95: 190, 99: 198, 99.9: 200, 100: 200} {
		if got := r.Percentile(p); got != want {
			t.Errorf("p%g is %d, want %d", p, got, want)
		}
	}
	if slices.IsSorted(r.Latencies) {
		t.Error("the latencies were put into another order")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"w1": {"w1"}, "w10": {"w10"}, "w2": {"w2a", "w2b"}, "w2b": {"w2b"}, "w": nil, "": nil, "w11": nil,
	} {
		var got []string
		for _, w := range Find(name) {
			got = append(got, w.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", name, got, want)
		}
	}
}
