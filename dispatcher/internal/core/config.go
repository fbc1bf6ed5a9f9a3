package core

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/perdure/perdure/internal/sealing"

	"github.com/perdure/perdure/dispatcher/internal/flow"
	"github.com/perdure/perdure/dispatcher/internal/manage"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/fallback"
	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/observing"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Config holds the settings of a node. All fields must be set; package runtime fills in the defaults.
type Config struct {
	Provider       provider.Provider
	Owner          string // unique per process start
	Orchestrations map[provider.Capability]replay.Body
	Activities     map[string]map[string]bind.ActivityFunc // by queue and name
	Fallbacks      *fallback.Set                           // for names that no node has registered; nil: none
	Limits         []flow.Limit                            // of some Activities
	QueueLimits    map[string]flow.QueueLimit              // by queue
	Env            *replay.Env
	Logger         *slog.Logger
	Level          *upgrade.Level      // that the store allows, and the highest that the node runs
	Background     BackgroundService   // runs until the end of the node, when working is done; nil: nothing does
	Paused         map[string]bool     // queues of which the node begins nothing at first
	OnDrained      func()              // called when a drained node has finished all work; nil: nobody is
	Watch          *observing.Hub      // nil: nobody observes
	Figures        *figures.Counter    // nil: the node keeps none
	Faults         *sealing.Faults     // of the codec, and of payloads that cannot be opened; nil: nobody asks for them
	Off            fastpath.Set        // fast paths that are switched off
	Propagators    []header.Propagator // of headers into activities
	Faces          bool                // the store keeps excerpts and groups of failures; dispatcher.Start sets it
	Bubble         *bubble.Settings    // of a test; nil: the node is in production

	MaxTurns            int                   // turns at the same time, at least 1
	MaxActivities       int                   // attempts at the same time, at least 1; 0 with no Activities
	ActivitiesPerSecond float64               // begun by this node; 0: no limit
	Sessions            provider.SessionClaim // limits for activities of sessions

	CacheCount     int           // cached executions; 0: none
	CacheBytes     int           // their estimated memory
	CacheIdle      time.Duration // how long an idle one stays; 0: without limit
	Lease          time.Duration
	GracePeriod    time.Duration // for cancelled activities
	DrainTimeout   time.Duration // on shutdown, for running activities
	ForceTimeout   time.Duration // on shutdown, after they were cancelled
	DeadlockLimit  time.Duration // one resume of code; 0: not watched
	PoisonLimit    int64         // deliveries lost to crashes
	MaxTurnBackoff time.Duration // longest delay of a failed turn's retry
	LocalTime      time.Duration // of a turn, for its local activities; 0: they all go to the queue

	HeartbeatThrottle    time.Duration // between stored details of calls without a heartbeat timeout
	MaxHeartbeatThrottle time.Duration // of all calls
	AutoHeartbeat        time.Duration // interval of automatic heartbeats; 0: none
	AutoHeartbeats       map[flow.ActivityName]time.Duration

	// Settings of the watchdog. Zero switches each off.
	MaxLeaked            int           // instances with leaked code
	InterruptInterval    time.Duration // before the first interrupt; doubles
	MaxInterruptInterval time.Duration
	GiveUpAfter          time.Duration // the end of interrupts
	WatchdogTimeout      time.Duration // on shutdown, for code that has not returned
	OnFatal              func(error)   // gets the reason before the node shuts itself down; nil: it does not
}

// BackgroundService is what runs beside the loops of a node.
type BackgroundService func(working context.Context, node Controls)

// Controls is what a BackgroundService does to its node.
type Controls interface {
	control.Controls
	// ServeAgain makes the node fetch the names that its fallbacks take by now.
	ServeAgain()
	// StorageTime returns the storage's time, zero before the first call of the store.
	StorageTime() provider.Time
}

// Settings returns those of executions that are started here.
func (c *Config) Settings() history.Settings { return replay.SettingsAt(c.Level.Allowed()) }

// Orchestration returns the code of an orchestration, of a fallback too; nil: the node has none.
func (c *Config) Orchestration(of provider.Capability) replay.Body {
	if body := c.Orchestrations[of]; body != nil || c.Fallbacks == nil {
		return body
	}
	return c.Fallbacks.Body(of)
}

// Activity returns the code of an activity, of a fallback too; nil: the node has none.
func (c *Config) Activity(queue, name string) bind.ActivityFunc {
	if fn := c.Activities[queue][name]; fn != nil || c.Fallbacks == nil {
		return fn
	}
	return c.Fallbacks.Activity(queue, name)
}

// Runs reports whether the node takes turns of an orchestration now.
func (c *Config) Runs(of provider.Capability) bool {
	return c.Orchestrations[of] != nil || c.Fallbacks.Now().Runs(of)
}

// Serves reports whether the node takes tasks of an activity now.
func (c *Config) Serves(queue, name string) bool {
	return c.Activities[queue][name] != nil || c.Fallbacks.Now().Serves(queue, name)
}

// Capabilities returns what turns a fetch may bring besides those of fallbacks.
func (c *Config) Capabilities() []provider.Capability {
	all := make([]provider.Capability, 0, len(c.Orchestrations))
	for capability := range c.Orchestrations {
		all = append(all, capability)
	}
	return all
}

// Queues returns what tasks a fetch may bring besides those of fallbacks.
func (c *Config) Queues() []provider.QueueFilter {
	all := make([]provider.QueueFilter, 0, len(c.Activities))
	for queue, funcs := range c.Activities {
		names := make([]string, 0, len(funcs))
		for name := range funcs {
			names = append(names, name)
		}
		all = append(all, provider.QueueFilter{Queue: queue, Names: names, MaxLeased: c.QueueLimits[queue].MaxConcurrent})
	}
	return all
}

// Fetchable is Capabilities with the orchestrations that fallbacks take.
func (c *Config) Fetchable(taken *fallback.Taken) []provider.Capability {
	return append(c.Capabilities(), taken.Capabilities()...)
}

// FetchableQueues is Queues with the activities that fallbacks take.
func (c *Config) FetchableQueues(taken *fallback.Taken) []provider.QueueFilter {
	all := c.Queues()
	for _, more := range taken.Queues() {
		more.MaxLeased = c.QueueLimits[more.Queue].MaxConcurrent
		all = append(all, more)
	}
	return all
}

// Pace returns throttle, timeout and interval for the heartbeats of a call.
func (c *Config) Pace(call *history.ActivityScheduled) manage.Pace {
	throttle, limit := c.HeartbeatThrottle, time.Duration(0)
	if call.HeartbeatTimeout > 0 && call.HeartbeatTimeout < math.MaxInt64/int64(time.Microsecond) { // longer ones would overflow
		limit = time.Duration(call.HeartbeatTimeout) * time.Microsecond
		throttle = limit / 5 * 4
	}
	every, ok := c.AutoHeartbeats[flow.ActivityName{Queue: call.Queue, Name: call.Name}]
	if !ok {
		every = c.AutoHeartbeat
	}
	if limit > 0 && every > 0 {
		every = min(every, limit/2) // a caller's timeout may be shorter than the node's interval
	}
	return manage.Pace{Throttle: min(throttle, c.MaxHeartbeatThrottle), Timeout: limit, Auto: every}
}
