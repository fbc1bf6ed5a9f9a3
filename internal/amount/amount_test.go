package amount_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/amount"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestOnlyOneIsSingular(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n          int64
		noun, want string
	}{
		{1, "instance", "1 instance"},
		{0, "instance", "0 instances"},
		{2, "instance", "2 instances"},
		{-1, "instance", "-1 instances"},
		{1, "activity", "1 activity"},
		{2, "activity", "2 activities"},
		{2, "try", "2 tries"},
		{2, "day", "2 days"},
		{3, "child", "3 children"},
		{3, "patch", "3 patches"},
	} {
		if got := amount.Of(c.n, c.noun); got != c.want {
			t.Errorf("%d of %q is %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestSpansHaveNoTrailingZeros(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 720 * time.Hour: "720h", 90 * time.Minute: "1h30m", 10 * time.Second: "10s", time.Hour + 10*time.Second: "1h0m10s", time.Millisecond: "1ms",
		-time.Hour: "-1h",
	} {
		if got := amount.Span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
		if back, err := time.ParseDuration(amount.Span(d)); err != nil || back != d {
			t.Errorf("%v reads as %v, %v", d, back, err)
		}
	}
}
