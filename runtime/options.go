package runtime

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/provider"
)

// ErrInvalid is answered by Start for an argument or an option that is not allowed. Nothing
// was started. It is the ErrInvalid of package client, too.
var ErrInvalid = provider.ErrInvalid

// Off disables a setting whose zero value means the default.
const Off = -1

// Options are the settings of a Runtime. The zero value is right for most services.
type Options struct {
	// Name identifies the node in leases and logs, at most 256 bytes; default: host name. A
	// number unique to each Start is added.
	Name string
	// Logger takes the engine's logs and those of user code; default: slog.Default().
	Logger *slog.Logger
	// MaxConcurrentTurns bounds the orchestration turns at the same time; default 200.
	MaxConcurrentTurns int
	// MaxConcurrentActivities bounds the activities that run at the same time; default 200.
	MaxConcurrentActivities int
	// Pools are the sizes of pools: how many activities registered with InPool run at the same
	// time. A pool that an activity is in must have one.
	Pools map[string]int
	// Queues are the activity queues that this node serves; nil: all that its activities are registered for; empty: none, so that
	// it runs orchestrations only. Activities of other queues stay registered: orchestration code may call them.
	Queues []string
	// QueueLimits bound the activities of queues on all nodes together. They take no short cut past the queue then.
	QueueLimits map[string]QueueLimit
	// ActivitiesPerSecond bounds how many attempts this node begins in a second, 0.001 to 1,000,000; default 0: no limit.
	ActivitiesPerSecond float64
	// MaxSessions is how many sessions the node holds at the same time, at most 1,000; default 10. Off: it runs no activities of sessions.
	// See orchestration.WithSession.
	MaxSessions int
	// SessionIdle is how long the node holds a session of which it runs nothing, at most 24 h; default 5 min.
	SessionIdle time.Duration
	// CacheExecutions bounds how many executions stay in memory between turns; default
	// 10,000. Off keeps none, so that each turn replays its history.
	CacheExecutions int
	// CacheBytes bounds their estimated memory: inputs, coroutines, and events and results that code has not read. The length of
	// histories does not count, nor does what code keeps in variables. Default 256 MiB.
	CacheBytes int
	// CacheIdle is how long one stays that waits for no activity, and of which nothing happens; default 1 min. Off: without limit. The next turn
	// of one that has gone replays its history.
	CacheIdle time.Duration
	// Lease is how long work belongs to a node without renewal, and so how long a crash
	// delays it; default 30 s, 500 ms to 24 h. It is renewed at a third of it.
	Lease time.Duration
	// GracePeriod is what a cancelled activity has to come back before its slot is freed
	// and it is leaked; default 10 s. Off: none.
	GracePeriod time.Duration
	// DrainTimeout is how long Shutdown lets running activities go on before it cancels
	// them; default 10 s. Off: none.
	DrainTimeout time.Duration
	// ForceTimeout is what activities that Shutdown has cancelled have before their leases are
	// handed back; default 5 s. Off: none.
	ForceTimeout time.Duration
	// WatchdogTimeout is how long Shutdown then waits for code that has not come back; default 30 s. Off: not.
	WatchdogTimeout time.Duration
	// LocalActivityTime is how long a turn goes on for its local activities, at most a third of Lease; default 1 s. What has not ended
	// by then goes on in the queue. Off: they are all run from the queue.
	LocalActivityTime time.Duration
	// DeadlockLimit is how long orchestration code may run without a call into the engine
	// before its turn is given up; default 2 s. After ten times the limit a turn is given up, too, if its code has
	// made 10,000 calls that had no effect: an endless loop. Off: not watched.
	DeadlockLimit time.Duration
	// PoisonLimit is how many deliveries of a task or turn may be lost to crashes before it
	// is set aside; default 20.
	PoisonLimit int
	// DefaultHeartbeatThrottle is the least time between heartbeat details of an activity that are stored, if its call has no
	// heartbeat timeout, of which it would be 80 %; default 30 s. What is reported in between is kept in memory.
	DefaultHeartbeatThrottle time.Duration
	// MaxHeartbeatThrottle bounds that time for all activities; default 1 min.
	MaxHeartbeatThrottle time.Duration
	// AutoHeartbeat is how often the node gives a heartbeat in place of the code, in which it also asks whether the activity
	// should go on; 100 ms or more. Default: never. The option of AddActivity goes before it, and explains.
	AutoHeartbeat time.Duration
	// InterruptInterval is after what time a cancelled activity that does not come back is interrupted, by the
	// functions that it gave to activity.OnInterrupt; default 1 s. Further pauses double. Off: never.
	InterruptInterval time.Duration
	// MaxInterruptInterval bounds the pauses; default 1 min, or InterruptInterval if that is longer. Off: no bound.
	MaxInterruptInterval time.Duration
	// GiveUpAfter is when interrupting ends; default 1 h, or GracePeriod if that is longer. Off: never.
	GiveUpAfter time.Duration
	// MaxLeaked is how many instances may have leaked code: activities that are over the grace period, turns that
	// are stuck, deferred functions that hang; default 10. One more is fatal: it is logged and shown in Health, and OnFatal
	// is called. Off: never.
	MaxLeaked int
	// OnFatal is called at most once, on a goroutine of its own, when the node can no longer be trusted with work: more than
	// MaxLeaked instances have leaked code (ErrTooManyLeaks). The node then shuts itself down, as by Shutdown with a context
	// that does not end, and what a program calls Shutdown for answers when that is done. End the process: only that ends leaked code. Default nil:
	// the node goes on.
	OnFatal func(reason error)
}

// maxTurnBackoff is the longest delay before a failed turn is tried again.
const maxTurnBackoff = time.Minute

const (
	minLease = 500 * time.Millisecond // renewals of a shorter one would come too late
	maxName  = 256                    // bytes of Options.Name: it must fit into a lease with what is added
)

// withDefaults fills in what is zero and refuses what makes no sense.
func (o Options) withDefaults() (Options, error) {
	if err := o.checkTexts(); err != nil {
		return o, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := o.checkPools(); err != nil {
		return o, err
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	for _, n := range []struct {
		name  string
		value *int
		std   int
		off   bool
	}{
		{"MaxConcurrentTurns", &o.MaxConcurrentTurns, 200, false},
		{"MaxConcurrentActivities", &o.MaxConcurrentActivities, 200, false},
		{"CacheExecutions", &o.CacheExecutions, 10_000, true},
		{"CacheBytes", &o.CacheBytes, 256 << 20, false},
		{"PoisonLimit", &o.PoisonLimit, 20, false},
		{"MaxLeaked", &o.MaxLeaked, 10, true},
		{"MaxSessions", &o.MaxSessions, defaultSessions, true},
	} {
		switch {
		case *n.value == 0:
			*n.value = n.std
		case n.off && *n.value == Off:
			*n.value = 0
		case *n.value < 0:
			return o, fmt.Errorf("%w: option %s is %d: give 1 or more, 0 for %d%s", ErrInvalid, n.name, *n.value, n.std, offHint(n.off))
		}
	}
	for _, t := range []struct {
		name  string
		value *time.Duration
		std   time.Duration
		off   bool
	}{
		{"Lease", &o.Lease, 30 * time.Second, false},
		{"GracePeriod", &o.GracePeriod, 10 * time.Second, true},
		{"DrainTimeout", &o.DrainTimeout, 10 * time.Second, true},
		{"ForceTimeout", &o.ForceTimeout, 5 * time.Second, true},
		{"WatchdogTimeout", &o.WatchdogTimeout, 30 * time.Second, true},
		{"LocalActivityTime", &o.LocalActivityTime, time.Second, true},
		{"DeadlockLimit", &o.DeadlockLimit, 2 * time.Second, true},
		{"DefaultHeartbeatThrottle", &o.DefaultHeartbeatThrottle, 30 * time.Second, false},
		{"MaxHeartbeatThrottle", &o.MaxHeartbeatThrottle, time.Minute, false},
		{"InterruptInterval", &o.InterruptInterval, time.Second, true},
		{"MaxInterruptInterval", &o.MaxInterruptInterval, time.Minute, true},
		{"GiveUpAfter", &o.GiveUpAfter, time.Hour, true},
		{"SessionIdle", &o.SessionIdle, defaultSessionIdle, false},
		{"CacheIdle", &o.CacheIdle, time.Minute, true},
	} {
		switch {
		case *t.value == 0:
			*t.value = t.std
		case t.off && *t.value == Off:
			*t.value = 0
		case *t.value < 0:
			return o, fmt.Errorf("%w: option %s is %v: give more than zero, 0 for %v%s", ErrInvalid, t.name, *t.value, t.std, offHint(t.off))
		}
	}
	if err := o.checkRouting(); err != nil {
		return o, err
	}
	if err := checkAutoHeartbeat(&o.AutoHeartbeat); err != nil {
		return o, err
	}
	if o.Lease < minLease || o.Lease > provider.MaxLease {
		return o, fmt.Errorf("%w: option Lease is %v: give %v to %v, 0 for 30s", ErrInvalid, o.Lease, minLease, provider.MaxLease)
	}
	return o, nil
}

// checkTexts refuses what only shows when the node asks for work or logs, too late.
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
