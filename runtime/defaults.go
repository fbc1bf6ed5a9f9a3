package runtime

import (
	"fmt"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
)

// maxDefaultNames bounds the type names of a default policy, in bytes. They fit into an event beside any input, so a call never fails
// because of them.
const maxDefaultNames = 1 << 10

// Defaults gives options to all calls of the activity by orchestrations of this node, in whatever queue:
//
//	runtime.AddActivity(reg, Charge, runtime.Defaults(
//		orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5}),
//		orchestration.WithStartToCloseTimeout(10*time.Second)))
//
// A call's own options count before these, and so do those of its scope: see orchestration.Context.WithActivityOptions. An option replaces
// the one of its kind as a whole, also a retry policy. AtMostOnce cannot be taken back. Local activities have their own options only.
//
// The options count where the activity is registered, not where it runs. A node that only calls it by name, and does not register it,
// knows none. Each call stores what it got, so nodes may have other defaults, and a change of them counts for later calls.
//
// A default NonRetryable has at most 1,024 bytes in all. If the activity is registered for several queues, only one registration may have
// Defaults.
func Defaults(opts ...orchestration.ActivityOption) RegisterOption {
	return registerFunc(func(s *activitySettings) error {
		if s.defaults == nil {
			s.defaults = &history.ActivityScheduled{Queue: orchestration.DefaultQueue}
		}
		if err := bind.ApplyActivity(opts, s.defaults); err != nil {
			return fmt.Errorf("Defaults: %w", err)
		}
		return checkDefaults(s.defaults)
	})
}

// checkDefaults refuses what could make a call fail.
func checkDefaults(call *history.ActivityScheduled) error {
	if call.Retry == nil {
		return nil
	}
	names := 0
	for _, name := range call.Retry.NonRetryable {
		names += len(name)
	}
	if names > maxDefaultNames {
		return fmt.Errorf("Defaults: retry policy: NonRetryable has %d bytes, and a default has at most %d: give the policy with the calls",
			names, maxDefaultNames)
	}
	return nil
}

// checkOneDefault refuses Defaults of an activity that another queue has with Defaults. Calls of a name have one set of them. It needs r.mu.
func (r *Registry) checkOneDefault(key activityName, defaults *history.ActivityScheduled) error {
	if defaults == nil {
		return nil
	}
	for other, entry := range r.activities {
		if other.name == key.name && entry.defaults != nil {
			return fmt.Errorf("queue %s has it with Defaults, which count for the calls of all queues: give them once", check.Quote(other.queue))
		}
	}
	return nil
}

// defaults returns the options of calls by the name of the activity. It needs r.mu.
func (r *Registry) defaults() map[string]*history.ActivityScheduled {
	var all map[string]*history.ActivityScheduled
	for key, entry := range r.activities {
		if entry.defaults == nil {
			continue
		}
		if all == nil {
			all = make(map[string]*history.ActivityScheduled)
		}
		all[key.name] = entry.defaults
	}
	return all
}
