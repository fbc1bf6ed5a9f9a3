package figures

import (
	"math"
	"math/bits"
	"time"
)

// Latencies counts durations in fixed buckets, two for each doubling, so that those of several nodes add up. A bucket is off by a fifth at most.
type Latencies map[int]int64

const (
	// maxOctave is of the longest durations that are told apart: 2 to this many microseconds are 12 days.
	maxOctave   = 40
	bucketCount = 1 + 2*maxOctave + 2
)

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 2 {
		return int(us)
	}
	octave := bits.Len64(us) - 1
	if octave > maxOctave {
		return bucketCount - 1
	}
	bucket := 1 + 2*octave
	if us >= 92_682<<octave>>16 { // the square root of two above the power
		bucket++
	}
	return bucket
}

// middle returns a duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 1 {
		return 0
	}
	return time.Duration(math.Exp2(float64(bucket-1)/2+0.25) * float64(time.Microsecond)).Round(time.Microsecond)
}

// Count returns how many durations were counted.
func (l Latencies) Count() (n int64) {
	for _, count := range l {
		n += count
	}
	return n
}

// Quantile returns the duration that a part of them, 0 to 1, does not exceed; false: none was counted.
func (l Latencies) Quantile(part float64) (time.Duration, bool) {
	all := l.Count()
	if all == 0 {
		return 0, false
	}
	rank, passed := max(int64(math.Ceil(part*float64(all))), 1), int64(0)
	for bucket := range bucketCount {
		if passed += l[bucket]; passed >= rank {
			return middle(bucket), true
		}
	}
	return middle(bucketCount - 1), true
}
