package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// WithTimeLimit ends the new instance d after its start, over all of its executions: it is cancelled then, and terminated a grace later if it
// still runs; see [WithLimitGrace]. Its code sees orchestration.ErrCancelled. The error of [Handle.Wait] is orchestration.ErrTimeout, too, if
// the instance ends without an output after its limit. d is more than zero and at most 100 years; the time counts from the call of Start, by
// the storage's clock. A delay of the start and the time while the instance is suspended or blocked count. A reset, a fork, a restart and an
// import set the limit anew, with all of d.
//
// The nodes of the store enforce it, whatever code they run: within five seconds as a rule, and within 15 s for the first limit in a while, or if
// the node that is first in the list hangs. Without a node nothing enforces it, nor does a node of a release that does not know limits. A start inside
// a transaction of the caller, before the client has read the storage's clock once, takes the clock of this process.
//
// The limit is an attribute, so an instance that exists already, as with [UseExisting], keeps its own.
func WithTimeLimit(d time.Duration) StartOption { return limitOption(d, 0) }

// WithExecutionTimeLimit is [WithTimeLimit] for each execution of its own: orchestration.ContinueAsNew sets the limit anew, with all of d. The last
// one of the two options counts.
//
// Upgrade nodes before clients that use it: an execution that a node of an earlier release continues as new has no limit any more.
func WithExecutionTimeLimit(d time.Duration) StartOption { return limitOption(d, 1) }

func limitOption(d time.Duration, execution int64) StartOption {
	return startFunc(func(o *startOptions) error {
		if d <= 0 || d > reserved.MaxLimit {
			return fmt.Errorf("%w: time limit %v: give more than zero and at most 100 years", ErrInvalid, d)
		}
		o.limit.For, o.limit.Execution = d, execution
		return nil
	})
}

// WithLimitGrace says how long the instance may take to stop once its time limit is over, before it is terminated; without it, one minute. Its
// code undoes in that time what it must. Zero terminates it at its limit. It needs [WithTimeLimit] or [WithExecutionTimeLimit].
func WithLimitGrace(d time.Duration) StartOption {
	return startFunc(func(o *startOptions) error {
		if d < 0 || d > reserved.MaxLimit {
			return fmt.Errorf("%w: grace %v of the time limit: give zero or more and at most 100 years", ErrInvalid, d)
		}
		o.limit.Grace, o.graced = d, true
		return nil
	})
}

// checkLimit refuses options that contradict each other.
func (o *startOptions) checkLimit() error {
	switch {
	case o.graced && o.limit.For == 0:
		return fmt.Errorf("%w: WithLimitGrace without a limit: give WithTimeLimit or WithExecutionTimeLimit, too", ErrInvalid)
	case o.limit.For != 0 && o.limit.For <= o.delay:
		return fmt.Errorf("%w: the time limit %v is over before the delay %v, so its code would never begin: give a longer limit",
			ErrInvalid, o.limit.For, o.delay)
	}
	return nil
}

// setLimit adds the attribute of the limit to a start. It needs the storage's time.
func (o *startOptions) setLimit(ctx context.Context, c *Client) error {
	if o.limit.For == 0 {
		return nil
	}
	if !o.graced {
		o.limit.Grace = reserved.DefaultGrace
	}
	now, err := c.clock.now(ctx, c.store, o.tx != nil)
	if err != nil {
		return err
	}
	o.attributes = append(o.attributes, limitAttribute(o.limit.From(now)))
	return nil
}

func limitAttribute(l reserved.Limit) provider.Attribute {
	return provider.Attribute{Name: reserved.LimitAttribute, Kind: provider.AttributeText, Text: l.String()}
}

// tellLimit tells the nodes of a test, which have no timers, that there may be a limit.
func tellLimit(ctx context.Context) {
	if changes := bubble.Of(ctx).RecordChanges(); changes != nil {
		changes.Notify()
	}
}

// limitOf returns the limit of an instance; ok is false if it has none.
func limitOf(i *provider.Instance) (l reserved.Limit, ok bool) {
	for j := range i.Attributes {
		if a := &i.Attributes[j]; a.Name == reserved.LimitAttribute {
			return reserved.ParseLimit(a.Text)
		}
	}
	return l, false
}

// withLimit makes sure that the error of an instance that has ended after its limit says so.
func withLimit(errs *failure.Set, cause error, i *provider.Instance) error {
	l, ok := limitOf(i)
	if !ok || i.EndedAt.Std().Before(l.Due) || l.Execution != 0 && l.Execution != i.Execution || errors.Is(cause, orchestration.ErrTimeout) {
		return cause
	}
	return errs.New(orchestration.ErrTimeout, "its time limit of %v was over: %w", l.For, cause)
}

// TimeLimit says when an instance must have ended. See WithTimeLimit.
type TimeLimit struct {
	Due           time.Time     `json:"due"`                     // when it is cancelled
	Terminate     time.Time     `json:"terminate"`               // when it is terminated if it still runs
	Limit         time.Duration `json:"limit"`                   // how long it may run, in nanoseconds
	EachExecution bool          `json:"eachExecution,omitempty"` // the limit is set anew when it continues as new
}

// describeLimit returns the limit of an instance; nil: it has none.
func describeLimit(i *provider.Instance) *TimeLimit {
	l, ok := limitOf(i)
	if !ok {
		return nil
	}
	return &TimeLimit{Due: l.Due, Terminate: l.Due.Add(l.Grace), Limit: l.For, EachExecution: l.Execution != 0}
}

// clockAge is the age at which the storage's clock is read again.
const clockAge = 10 * time.Second

// storageClock is the storage's clock as a client has read it last. Between two reads, the monotonic clock of the process counts.
type storageClock struct {
	mu     sync.Mutex
	readAt time.Time
	time   time.Time // of the storage, at readAt; zero: it was never read
}

// now returns the storage's time. Inside a transaction of the caller it reads nothing, because the caller may hold the only connection.
func (s *storageClock) now(ctx context.Context, store *storage, inTx bool) (time.Time, error) {
	s.mu.Lock()
	readAt, at := s.readAt, s.time
	s.mu.Unlock()
	switch age := time.Since(readAt); {
	case at.IsZero() && inTx:
		return time.Now(), nil
	case !at.IsZero() && (inTx || age < clockAge):
		return at.Add(age), nil
	}
	began := time.Now()
	now, err := store.Now(ctx)
	if err != nil {
		return at, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt, s.time = began, now.Std()
	return s.time, nil
}
