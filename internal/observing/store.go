package observing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// Bounds of what ReadStore counts. Dead letters are read with their payloads.
const (
	maxCounted     = 10_001
	maxDeadLetters = 100
)

// ReadStore reads the state of a store, without what is unserved, and the figures that it comes from. No part of it looks at more rows than there
// are waiting, running or 10,001.
func ReadStore(ctx context.Context, full *provider.Full) (*observe.Store, *provider.StatsResult, error) {
	s := &observe.Store{At: time.Now(), Instances: map[string]int64{}, Unserved: map[string]int64{"orchestration": 0, "activity": 0}}
	for status := provider.StatusRunning; status <= provider.StatusTerminated; status++ {
		res, err := full.Count(ctx, provider.CountRequest{Filter: provider.Filter{Statuses: []provider.Status{status}}, Max: maxCounted})
		if err != nil {
			return nil, nil, fmt.Errorf("counting instances: %w", err)
		}
		s.Instances[strings.ToLower(status.String())] = res.Count
	}
	blocked, err := full.Count(ctx, provider.CountRequest{Filter: provider.Filter{Blocked: true}, Max: maxCounted})
	if err != nil {
		return nil, nil, fmt.Errorf("counting blocked instances: %w", err)
	}
	s.Blocked = blocked.Count
	if full.Features().Retrying {
		retrying, err := full.Count(ctx, provider.CountRequest{Filter: provider.Filter{Retrying: true}, Max: maxCounted})
		if err != nil {
			return nil, nil, fmt.Errorf("counting instances that retry: %w", err)
		}
		s.Retrying = &retrying.Count
	}
	dead, err := full.DeadLetters(ctx, provider.DeadLettersRequest{Action: provider.DeadLettersList, Max: maxDeadLetters})
	if err != nil {
		return nil, nil, fmt.Errorf("counting dead letters: %w", err)
	}
	s.DeadLetters = int64(len(dead.Letters))
	stats, err := full.Stats(ctx, provider.StatsRequest{Waiting: true, Running: true, Most: maxCounted})
	if err != nil {
		return nil, nil, fmt.Errorf("reading what waits: %w", err)
	}
	addWaiting(s, &stats)
	return s, &stats, nil
}

// addWaiting adds what waits, by name.
func addWaiting(s *observe.Store, stats *provider.StatsResult) {
	turns, tasks := map[string]observe.Waiting{}, map[[2]string]observe.Waiting{}
	for _, w := range stats.Turns {
		one := turns[w.Name]
		one.Name, one.Count, one.Oldest = w.Name, one.Count+w.Count, max(one.Oldest, stats.Now.Sub(w.Oldest))
		turns[w.Name] = one
	}
	for _, w := range stats.Tasks {
		key := [2]string{w.Queue, w.Name}
		one := tasks[key]
		one.Name, one.Queue, one.Count, one.Oldest = w.Name, w.Queue, one.Count+w.Count, max(one.Oldest, stats.Now.Sub(w.Oldest))
		tasks[key] = one
	}
	s.Turns, s.Tasks = slices.AppendSeq(s.Turns, maps.Values(turns)), slices.AppendSeq(s.Tasks, maps.Values(tasks))
}
