package runtime

import (
	"fmt"
	"math"
	"slices"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/provider"
)

// QueueLimit bounds the activities of a queue on all nodes together. Give it to every node that serves the queue. Activities
// over a limit wait in the store and delay no other queue.
type QueueLimit struct {
	// PerSecond is how many attempts begin in a second, 0.001 to 1,000,000; 0: no limit. They are spread evenly.
	PerSecond float64
	// MaxConcurrent is how many attempts run at the same time, pending ones that hold their slot included; 0: no limit.
	MaxConcurrent int
}

const (
	minRate = 0.001
	maxRate = 1e6
)

// hasRates reports whether a queue has a rate, which all nodes share.
func (o Options) hasRates() bool {
	for _, limit := range o.QueueLimits {
		if limit.PerSecond > 0 {
			return true
		}
	}
	return false
}

// checkRouting refuses limits that are out of range and queues that no node can serve.
func (o Options) checkRouting() error {
	if err := checkRate("option ActivitiesPerSecond", o.ActivitiesPerSecond); err != nil {
		return err
	}
	names := make([]string, 0, len(o.QueueLimits))
	for name := range o.QueueLimits {
		names = append(names, name)
	}
	slices.Sort(names) // the same mistake gets the same error
	for _, name := range names {
		if err := check.Name("queue name", name); err != nil {
			return fmt.Errorf("%w: option QueueLimits: %w", ErrInvalid, err)
		}
		limit := o.QueueLimits[name]
		if err := checkRate("option QueueLimits: PerSecond of "+check.Quote(name), limit.PerSecond); err != nil {
			return err
		}
		if limit.MaxConcurrent < 0 {
			return fmt.Errorf("%w: option QueueLimits: MaxConcurrent of %s is %d: give 1 or more, 0 for no limit",
				ErrInvalid, check.Quote(name), limit.MaxConcurrent)
		}
	}
	for _, name := range o.Queues {
		if err := check.Name("queue name", name); err != nil {
			return fmt.Errorf("%w: option Queues: %w", ErrInvalid, err)
		}
	}
	if o.Sessions.Max > provider.MaxBatch {
		return fmt.Errorf("%w: option Sessions.Max is %d: give at most %d", ErrInvalid, o.Sessions.Max, provider.MaxBatch)
	}
	if o.Sessions.Idle > provider.MaxLease {
		return fmt.Errorf("%w: option Sessions.Idle is %v: give at most %v", ErrInvalid, o.Sessions.Idle, provider.MaxLease)
	}
	return nil
}

func checkRate(what string, perSecond float64) error {
	if perSecond == 0 || perSecond >= minRate && perSecond <= maxRate && !math.IsNaN(perSecond) {
		return nil
	}
	return fmt.Errorf("%w: %s is %v: give %v to %.0f, 0 for no limit", ErrInvalid, what, perSecond, minRate, maxRate)
}

// route sets the routing of activities.
func (o Options) route(cfg *dispatcher.Config) {
	cfg.ActivitiesPerSecond = o.ActivitiesPerSecond
	cfg.QueueLimits = make(map[string]dispatcher.QueueLimit, len(o.QueueLimits))
	for queue, limit := range o.QueueLimits {
		cfg.QueueLimits[queue] = dispatcher.QueueLimit(limit)
	}
	if o.Sessions.Max > 0 {
		cfg.Sessions = provider.SessionClaim{Max: o.Sessions.Max, Lease: o.Lease, Idle: o.Sessions.Idle}
	}
}

// serves reports whether the node runs activities of the queue.
func (o Options) serves(queue string) bool {
	return o.MaxConcurrentActivities > 0 && (len(o.Queues) == 0 || slices.Contains(o.Queues, queue))
}

// served refuses a queue that the options name and no activity is registered for.
func (r *Registry) served(o Options) error {
	for _, queue := range o.Queues {
		known := false
		for key := range r.activities {
			known = known || key.queue == queue
		}
		only := func(other string) bool { return other == queue }
		known = known || len(fallback.OnQueues(r.activityFallbacks, only)) > 0
		if !known {
			return fmt.Errorf("%w: option Queues names %s, for which no activity is registered: add one with OnQueue, or leave the queue out",
				ErrInvalid, check.Quote(queue))
		}
	}
	return nil
}
