package runtime

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/perdure/perdure/codec"

	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/propagate"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// ErrInvalid means that an argument or option is not allowed, and nothing was started. It is the ErrInvalid of packages client,
// orchestration and provider.
var ErrInvalid = provider.ErrInvalid

// Off disables a setting whose zero value means the default.
const Off = -1

// Options are the settings of a Runtime. The zero value is right for most services. A nil slice or map means the same as an empty one.
type Options struct {
	// Name identifies the node in leases and logs, at most 256 bytes; default: host name. A
	// number unique to each Start is added.
	Name string
	// Logger receives the engine's logs and those of user code; default: slog.Default().
	Logger *slog.Logger
	// MaxConcurrentTurns bounds the orchestration turns that run at the same time; default 200.
	MaxConcurrentTurns int
	// MaxConcurrentActivities bounds the activities that run at the same time; default 200. Off: the node runs orchestrations
	// only. Its activities stay registered, so that orchestration code may call them.
	MaxConcurrentActivities int
	// ActivitiesPerSecond bounds how many attempts this node begins in a second, 0.001 to 1,000,000; default 0: no limit.
	ActivitiesPerSecond float64
	// Pools are the sizes of pools: how many activities registered with InPool run at the same
	// time. A pool that an activity is in must have one.
	Pools map[string]int
	// Queues are the activity queues that this node serves; default: all that its activities are registered for. Activities of
	// other queues stay registered, so that orchestration code may call them.
	Queues []string
	// QueueLimits bound the activities of queues on all nodes together. Activities of these queues are always fetched.
	QueueLimits map[string]QueueLimit
	// Lease is how long work belongs to a node without renewal, and so how long a crash delays it.
	// The default is 30 s; 500 ms to 24 h. It is renewed after a third.
	Lease time.Duration
	// LocalActivityTime is how long a turn waits for its local activities, at most a third of Lease; default 1 s. Those that have not
	// ended by then continue in the queue. Off: they all run from the queue.
	LocalActivityTime time.Duration
	// DeadlockLimit is how long orchestration code may run without a call into the engine
	// before its turn is abandoned; default 2 s. A turn is also abandoned after ten times the limit if its code has
	// made 10,000 calls that had no effect: an endless loop. Off: not watched.
	DeadlockLimit time.Duration
	// Propagators move headers into the contexts of activities, and are the default of Runtime.Client; default none. See package
	// header.
	Propagators []header.Propagator
	// Observer gets to know of what the node does, and makes its metrics and traces; default none. It is the default of
	// Runtime.Client. See package observe.
	Observer observe.Observer
	// Codec encrypts what code of the user produces before the store gets it; default nil: nothing is encrypted. It is the codec of
	// Runtime.Client, too. Nodes and clients that have it can read what is encrypted, and others cannot: see docs/how-to/encrypt-payloads.md.
	// To begin, deploy codec.OpenOnly, then run perdure upgrade --finish, then deploy the codec itself: a store that does not allow engine level 12
	// takes OpenOnly only. With a codec, the engine's log lines have no texts of errors and
	// panics of user code.
	Codec codec.Codec
	// PoisonLimit is how many deliveries of a task or turn may be lost to crashes before it
	// is set aside; default 20.
	PoisonLimit int
	// Retention is what the store removes by itself, once an hour; default nil: as it was set last, by another node or an operator. A
	// start sets it where it differs. The zero Retention switches retention off.
	Retention *operate.Retention
	// NoFigures switches off that the node counts starts, ends, failures, retries and times of activities in records of the store, which the
	// dashboard draws: see Client.Figures. A store without provider.Keeper keeps none. Default: it counts.
	NoFigures bool
	// OnDrained is called on a goroutine of its own when an operator has drained the node and nothing runs on it any more: each time
	// that happens. The process may then call Shutdown and end. Default nil: only Health and the list of nodes show it.
	OnDrained func()

	Cache      CacheOptions
	Sessions   SessionOptions
	Heartbeats HeartbeatOptions
	Leaks      LeakOptions
	Shutdown   ShutdownOptions
}

// CacheOptions bound the executions that a node keeps in memory between turns. The next turn of an evicted one replays its history.
type CacheOptions struct {
	// Executions bounds their number; default 10,000. Off: none is kept.
	Executions int
	// Bytes bounds their estimated memory: inputs, coroutines, and events and results that code has not read; default 256 MiB. The
	// length of histories does not count, nor do the variables of code.
	Bytes int
	// Idle is how long an idle execution stays in the cache; default 1 min. An execution that waits for an activity is not idle.
	// Off: without limit.
	Idle time.Duration
}

// SessionOptions bound the sessions that a node holds: see orchestration.WithSession.
type SessionOptions struct {
	// Max is how many sessions the node holds at the same time, at most 1,000; default 10. Off: it runs no activities of sessions.
	Max int
	// Idle is how long the node holds an idle session, at most 24 h; default 5 min.
	Idle time.Duration
}

// HeartbeatOptions say how often heartbeats of activities are stored.
type HeartbeatOptions struct {
	// DefaultThrottle is the minimum time between stored heartbeat details of a call without a heartbeat timeout; default 30 s. With
	// a timeout it is 80 % of that. Details reported in between are kept in memory.
	DefaultThrottle time.Duration
	// MaxThrottle bounds that time for all activities; default 1 min.
	MaxThrottle time.Duration
	// Auto is how often the node heartbeats in place of the code and checks that the activity should continue; at least
	// 100 ms. Default: never. The function AutoHeartbeat, which explains it, overrides it for one activity.
	Auto time.Duration
}

// LeakOptions say how a node treats user code that does not return although it was told to.
type LeakOptions struct {
	// GracePeriod is how long a cancelled activity has to return before its slot is released
	// and it is leaked; default 10 s. Off: none.
	GracePeriod time.Duration
	// InterruptInterval is the time from the cancellation of an activity to its first interrupt, by the
	// functions given to activity.OnInterrupt; default 1 s. Later pauses double. Off: never.
	InterruptInterval time.Duration
	// MaxInterruptInterval bounds the pauses; default 1 min, or InterruptInterval if that is longer. Off: no bound.
	MaxInterruptInterval time.Duration
	// GiveUpAfter is when interrupting ends; default 1 h, or GracePeriod if that is longer. Off: never.
	GiveUpAfter time.Duration
	// MaxInstances is how many instances may have leaked code: activities past the grace period, stuck turns,
	// deferred functions that hang; default 10. One more is fatal: it is logged and shown in Health, and OnFatal
	// is called. Off: never.
	MaxInstances int
	// OnFatal is called at most once, on a goroutine of its own, when more than MaxInstances instances have leaked code
	// (ErrTooManyLeaks). The node can no longer be trusted with work. It then shuts itself down, as by Shutdown with a
	// context that does not end. Calls of Shutdown return when that is done. End the process: only that ends leaked
	// code. Default nil: the node continues.
	OnFatal func(reason error)
}

// ShutdownOptions are the timeouts of the phases of Shutdown, one after the other.
type ShutdownOptions struct {
	// DrainTimeout is how long running activities may continue before they are cancelled; default
	// 10 s. Off: none.
	DrainTimeout time.Duration
	// ForceTimeout is how long the cancelled activities have to return before their leases are released; default 5 s. Off: none.
	ForceTimeout time.Duration
	// WatchdogTimeout is how long Shutdown then waits for code that has not returned; default 30 s. Off: not.
	WatchdogTimeout time.Duration
}

// maxTurnBackoff is the longest delay before a failed turn is tried again.
const maxTurnBackoff = time.Minute

const (
	minLease = 500 * time.Millisecond // renewals of a shorter one would come too late
	maxName  = 256                    // bytes of Options.Name: it must fit into a lease with what is added
)

// withDefaults fills in zero settings and refuses invalid ones.
func (o Options) withDefaults() (Options, error) {
	if err := o.checkTexts(); err != nil {
		return o, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := propagate.CheckAll(o.Propagators); err != nil {
		return o, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := o.checkPools(); err != nil {
		return o, err
	}
	if err := o.checkCodec(); err != nil {
		return o, err
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := fillNumbers(&o); err != nil {
		return o, err
	}
	if err := fillTimes(&o); err != nil {
		return o, err
	}
	if err := o.checkRouting(); err != nil {
		return o, err
	}
	if err := checkAutoHeartbeat(&o.Heartbeats.Auto); err != nil {
		return o, err
	}
	if o.Lease < minLease || o.Lease > provider.MaxLease {
		return o, fmt.Errorf("%w: option Lease is %v: give %v to %v, 0 for 30s", ErrInvalid, o.Lease, minLease, provider.MaxLease)
	}
	return o, nil
}

// fillNumbers fills in zero numbers. Off becomes 0.
func fillNumbers(o *Options) error {
	for _, n := range []struct {
		name  string
		value *int
		std   int
		off   bool
	}{
		{"MaxConcurrentTurns", &o.MaxConcurrentTurns, 200, false},
		{"MaxConcurrentActivities", &o.MaxConcurrentActivities, 200, true},
		{"PoisonLimit", &o.PoisonLimit, 20, false},
		{"Cache.Executions", &o.Cache.Executions, 10_000, true},
		{"Cache.Bytes", &o.Cache.Bytes, 256 << 20, false},
		{"Sessions.Max", &o.Sessions.Max, 10, true},
		{"Leaks.MaxInstances", &o.Leaks.MaxInstances, 10, true},
	} {
		switch {
		case *n.value == 0:
			*n.value = n.std
		case n.off && *n.value == Off:
			*n.value = 0
		case *n.value < 0:
			return fmt.Errorf("%w: option %s is %d: give 1 or more, 0 for %d%s", ErrInvalid, n.name, *n.value, n.std, offHint(n.off))
		}
	}
	return nil
}

// fillTimes fills in zero times. Off becomes 0.
func fillTimes(o *Options) error {
	for _, t := range []struct {
		name  string
		value *time.Duration
		std   time.Duration
		off   bool
	}{
		{"Lease", &o.Lease, 30 * time.Second, false},
		{"LocalActivityTime", &o.LocalActivityTime, time.Second, true},
		{"DeadlockLimit", &o.DeadlockLimit, 2 * time.Second, true},
		{"Cache.Idle", &o.Cache.Idle, time.Minute, true},
		{"Sessions.Idle", &o.Sessions.Idle, 5 * time.Minute, false},
		{"Heartbeats.DefaultThrottle", &o.Heartbeats.DefaultThrottle, 30 * time.Second, false},
		{"Heartbeats.MaxThrottle", &o.Heartbeats.MaxThrottle, time.Minute, false},
		{"Leaks.GracePeriod", &o.Leaks.GracePeriod, 10 * time.Second, true},
		{"Leaks.InterruptInterval", &o.Leaks.InterruptInterval, time.Second, true},
		{"Leaks.MaxInterruptInterval", &o.Leaks.MaxInterruptInterval, time.Minute, true},
		{"Leaks.GiveUpAfter", &o.Leaks.GiveUpAfter, time.Hour, true},
		{"Shutdown.DrainTimeout", &o.Shutdown.DrainTimeout, 10 * time.Second, true},
		{"Shutdown.ForceTimeout", &o.Shutdown.ForceTimeout, 5 * time.Second, true},
		{"Shutdown.WatchdogTimeout", &o.Shutdown.WatchdogTimeout, 30 * time.Second, true},
	} {
		switch {
		case *t.value == 0:
			*t.value = t.std
		case t.off && *t.value == Off:
			*t.value = 0
		case *t.value < 0:
			return fmt.Errorf("%w: option %s is %v: give more than zero, 0 for %v%s", ErrInvalid, t.name, *t.value, t.std, offHint(t.off))
		}
	}
	return nil
}

// checkTexts refuses texts that would be refused later, when the node asks for work or logs.
func (o Options) checkTexts() error {
	if len(o.Name) > maxName {
		return fmt.Errorf("option Name %s has %d bytes: shorten it to %d", check.Quote(o.Name), len(o.Name), maxName)
	}
	if err := check.Text("option Name", o.Name); err != nil {
		return err
	}
	if err := check.Logger(o.Logger); err != nil {
		return fmt.Errorf("option %w", err)
	}
	return nil
}

func offHint(off bool) string {
	if off {
		return ", or Off (-1) for none"
	}
	return ""
}
