package validations

import (
	"fmt"
	"sync"
	"time"
)

// A stopwatch notes the slowest call of a case, apart from calls that wait, and whether the case held a lease that ends soon. Such a
// case shows nothing if the lease ends before the case expects it.
type stopwatch struct {
	mu     sync.Mutex
	method string
	took   time.Duration
	brief  bool
}

// lap times a call that should not wait, from now until done is called.
func (s *stopwatch) lap(method string, wait time.Duration) (done func()) {
	if wait > 0 {
		return func() {}
	}
	began := time.Now()
	return func() {
		took := time.Since(began)
		s.mu.Lock()
		defer s.mu.Unlock()
		if took > s.took {
			s.method, s.took = method, took
		}
	}
}

// holds notes the lengths of leases.
func (s *stopwatch) holds(leases ...time.Duration) {
	for _, d := range leases {
		if d > 0 && d < brief {
			s.mu.Lock()
			s.brief = true
			s.mu.Unlock()
		}
	}
}

// late returns what to say about the slowest call at a pace, "" if none was slower than the suite expects.
func (s *stopwatch) late(pace int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	expected := usual * time.Duration(max(1, pace))
	if s.took <= expected {
		return ""
	}
	return fmt.Sprintf("%s took %v, and the suite expects less than %v: pass validations.Pace with the time that a call of the store may take",
		s.method, s.took.Round(time.Millisecond), expected)
}

// slowest is the longest pace of a second run. Beyond it the suite's longest brief duration, 400 ms, comes near to patience: a case
// would wait in vain for the end of a lease after one call that took seconds.
const slowest = 20

// needed returns the pace at which the case shows what it should, or comes nearest to it. It returns 0 if no slower run would show
// more: no call was slow, the case held no lease that ends soon, or it ran at the slowest pace.
func (s *stopwatch) needed(pace int) int {
	if s.late(pace) == "" {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.brief {
		return 0
	}
	const spare = 2 // the next call may be slower
	slower := min(spare*int((s.took+usual-1)/usual), slowest)
	if slower <= pace {
		return 0
	}
	return slower
}

// A verdict is what the runs of a case have shown.
type verdict struct {
	failures []string
	lacks    string // an optional interface that the case needs and the provider does not have
	slow     string // what to say about slow calls, "" for nothing
}

// judge runs a case with a trial at a pace. If it passes with calls so slow that it may have shown nothing, it runs once more, more
// slowly.
func judge(c testCase, pace int, run func(c testCase, pace int) (*trial, []string)) (v verdict) {
	for again := range 2 {
		t, failures := run(c, pace)
		v.failures, v.lacks = failures, t.lacks
		v.slow = t.trace.late(pace)
		slower := t.trace.needed(pace)
		if len(failures) > 0 || v.lacks != "" || slower == 0 || again > 0 {
			break
		}
		pace = slower
	}
	return v
}
