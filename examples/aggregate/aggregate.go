// Package aggregate shows how to gather figures from many sources at once when some of them fail or are slow.
package aggregate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Sources provides figures.
type Sources struct {
	Ask func(ctx context.Context, source string) (int, error)
}

// Figure asks one source for its figure.
func (s *Sources) Figure(ctx context.Context, source string) (int, error) { return s.Ask(ctx, source) }

// Summary is the combined result.
type Summary struct {
	Total   int
	Missing []string // sources without a figure, and why
}

// Summarize asks all sources at once, each in a separate activity. Stored results survive a crash, which repeats only
// the rest. Each source is tried three times, and all of them have five seconds together. Sources that have not
// responded by then are listed as missing.
func Summarize(ctx *orchestration.Context, sources []string) (Summary, error) {
	var s *Sources
	limited, cancel := ctx.WithTimeout(5 * time.Second)
	defer cancel() // cancel the activities that still run
	retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: 10 * time.Millisecond})
	figures := make([]orchestration.Future[int], len(sources))
	for i, source := range sources {
		figures[i] = orchestration.StartActivity(limited, s.Figure, source, retry)
	}
	var sum Summary
	for i, figure := range figures {
		n, err := figure.Get(limited)
		if err != nil {
			if stopped := ctx.Err(); stopped != nil { // the orchestration was cancelled, not this source
				return Summary{}, stopped
			}
			sum.Missing = append(sum.Missing, fmt.Sprintf("%s: %v", sources[i], err))
			continue
		}
		sum.Total += n
	}
	return sum, nil
}

// All asks all sources at once in one activity. It takes one commit instead of one per source, which suits many
// quick sources. A crash repeats all calls except those reported by an earlier attempt.
func (s *Sources) All(ctx context.Context, sources []string) (total int, err error) {
	known, _, err := activity.HeartbeatDetails[map[string]int](ctx)
	if err != nil {
		return 0, err
	}
	if known == nil {
		known = map[string]int{}
	}
	var mu sync.Mutex
	var failed error
	var asking sync.WaitGroup
	for _, source := range sources {
		if _, ok := known[source]; ok {
			continue
		}
		asking.Go(func() {
			n, err := s.Ask(ctx, source)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = fmt.Errorf("%s: %w", source, err)
				return
			}
			known[source] = n
		})
	}
	asking.Wait() // an activity must not leave goroutines behind
	if failed != nil {
		_ = activity.Heartbeat(ctx, known) // return failed, which already says why
		return 0, failed
	}
	for _, n := range known {
		total += n
	}
	return total, nil
}

// Total asks all sources in one activity.
func Total(ctx *orchestration.Context, sources []string) (int, error) {
	var s *Sources
	return orchestration.CallActivity(ctx, s.All, sources,
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 10 * time.Millisecond}))
}
