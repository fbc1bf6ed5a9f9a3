package runtime

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/dispatcher"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
)

// activitySettings are set by the options of AddActivity.
type activitySettings struct {
	queue    string
	limits   activityLimits
	beats    time.Duration              // interval of automatic heartbeats; 0: the node's
	defaults *history.ActivityScheduled // options of its calls; nil: none
}

// activityLimits bound how many attempts of an activity run at the same time on a node.
type activityLimits struct {
	max  int    // of its own; 0: none
	pool string // "": none
}

// RegisterOption is an option of AddActivity, and of AddActivities for each of its methods.
type RegisterOption interface {
	ActivitiesOption
	applyRegister(s *activitySettings) error
}

type registerFunc func(s *activitySettings) error

func (f registerFunc) applyRegister(s *activitySettings) error { return f(s) }

// OnQueue serves the activity from the named queue instead of the default one.
func OnQueue(queue string) RegisterOption {
	return registerFunc(func(s *activitySettings) error {
		s.queue = queue
		return check.Name("queue name", queue)
	})
}

// MaxConcurrent bounds how many attempts of the activity a node runs at the same time, pending ones that hold their
// slot included. Options.MaxConcurrentActivities bounds them, too. An attempt over the limit
// waits in the store, where another node may take it, and delays nothing else. An activity with a limit is always fetched.
func MaxConcurrent(n int) RegisterOption {
	return registerFunc(func(s *activitySettings) error {
		if n < 1 {
			return fmt.Errorf("MaxConcurrent is %d: give 1 or more, or leave it out", n)
		}
		s.limits.max = n
		return nil
	})
}

// InPool lets the activity share a limit with all others of the same pool, whatever their queues. Options.Pools has the sizes of
// pools. It is meant for work that uses something scarce, such as processors, memory or connections.
func InPool(name string) RegisterOption {
	return registerFunc(func(s *activitySettings) error {
		s.limits.pool = name
		return check.Name("pool name", name)
	})
}

// settingsOf applies options.
func settingsOf(opts []RegisterOption) (activitySettings, error) {
	s := activitySettings{queue: orchestration.DefaultQueue}
	err := bind.Apply(opts, func(o RegisterOption) error { return o.applyRegister(&s) })
	return s, err
}

// limits returns the limits of the activities on this node.
func (r *Registry) limits(sizes map[string]int) ([]dispatcher.Limit, error) {
	var limits []dispatcher.Limit
	pools := map[string][]dispatcher.ActivityName{}
	for key, entry := range r.activities {
		name := dispatcher.ActivityName{Queue: key.queue, Name: key.name}
		if entry.limits.max > 0 {
			limits = append(limits, dispatcher.Limit{Size: entry.limits.max, Activities: []dispatcher.ActivityName{name}})
		}
		pool := entry.limits.pool
		if pool == "" {
			continue
		}
		if sizes[pool] == 0 {
			return nil, fmt.Errorf("%w: activity %s is in pool %s, which has no size: give it one in option Pools",
				ErrInvalid, check.Quote(key.name), check.Quote(pool))
		}
		pools[pool] = append(pools[pool], name)
	}
	for pool, names := range pools {
		limits = append(limits, dispatcher.Limit{Name: pool, Size: sizes[pool], Activities: names})
	}
	return limits, nil
}

// checkPools refuses pools without a name or a size.
func (o Options) checkPools() error {
	names := make([]string, 0, len(o.Pools))
	for name := range o.Pools {
		names = append(names, name)
	}
	slices.Sort(names) // the same mistake gets the same error
	for _, name := range names {
		if err := check.Name("pool name", name); err != nil {
			return fmt.Errorf("%w: option Pools: %w", ErrInvalid, err)
		}
		if size := o.Pools[name]; size < 1 {
			return fmt.Errorf("%w: option Pools gives %s the size %d: give 1 or more", ErrInvalid, check.Quote(name), size)
		}
	}
	return nil
}
