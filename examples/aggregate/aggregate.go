// Package aggregate shows how to gather from many sources at once, of which some fail or take too long.
package aggregate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
)

// Sources are asked for figures.
type Sources struct {
	Ask func(ctx context.Context, source string) (int, error)
}

// Figure asks one source.
func (s *Sources) Figure(ctx context.Context, source string) (int, error) { return s.Ask(ctx, source) }

// Summary is what came together.
type Summary struct {
	Total   int
	Missing []string // sources that did not answer, and why
}

// Summarize asks all sources at once, each as an activity of its own: what has answered is stored, and a crash repeats only
// the rest. Each is tried three times, and all together have two seconds. Whoever has not answered then is missing from the summary.
func Summarize(ctx *orchestration.Context, sources []string) (Summary, error) {
	var s *Sources
	limited, cancel := ctx.WithTimeout(2 * time.Second)
	defer cancel() // those still at work are told to stop
	retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: 10 * time.Millisecond})
	figures := make([]orchestration.Future[int], len(sources))
	for i, source := range sources {
		figures[i] = orchestration.StartActivity(limited, s.Figure, source, retry)
	}
	var sum Summary
	for i, figure := range figures {
		n, err := figure.Get(limited)
		if err != nil {
			if stopped := ctx.Err(); stopped != nil { // the whole was cancelled, not this source
				return Summary{}, stopped
			}
			sum.Missing = append(sum.Missing, fmt.Sprintf("%s: %v", sources[i], err))
			continue
		}
		sum.Total += n
	}
	return sum, nil
}

// All asks all sources at once within one activity: one commit instead of one for each, good for many that are quick. A crash repeats
// them all, but for those that an earlier attempt reported.
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
	asking.Wait() // an activity leaves nothing behind
	if failed != nil {
		_ = activity.Heartbeat(ctx, known) // what it answers is why failed is what it is
		return 0, failed
	}
	for _, n := range known {
		total += n
	}
	return total, nil
}

// Total asks them within one activity.
func Total(ctx *orchestration.Context, sources []string) (int, error) {
	var s *Sources
	return orchestration.CallActivity(ctx, s.All, sources,
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 10 * time.Millisecond}))
}
