package provider_test

import (
	"math"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// Delays are rounded up, and the longest ones do not overflow.
func TestTimeAdd(t *testing.T) {
	for d, want := range map[time.Duration]provider.Time{
		0: 1000, 1: 1001, time.Microsecond: 1001, time.Microsecond + 1: 1002, -1: 1000, -time.Microsecond: 999,
		math.MaxInt64: 1000 + math.MaxInt64/1000 + 1, math.MinInt64: 1000 + math.MinInt64/1000,
	} {
		if got := provider.Time(1000).Add(d); got != want {
			t.Errorf("1000 and %v are %d, not %d", d, got, want)
		}
	}
}
