package orchestration

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// DefaultQueue is the activity queue used without WithQueue.
const DefaultQueue = "default"

// Off disables a setting whose zero value means the default.
const Off = -1

// RetryPolicy says when a failed activity is retried. The zero value retries without end: 1 s after the first failure, then
// twice as long each time, up to a minute.
type RetryPolicy struct {
	MaxAttempts     int           // all attempts together; 0: no limit
	InitialInterval time.Duration // before the second attempt; 0: 1 s
	MaxInterval     time.Duration // longest interval; 0: 1 min, or InitialInterval if that is longer
	Coefficient     float64       // growth of the interval, at least 1; 0: 2
	Jitter          float64       // up to this part of the interval is added or subtracted, 0 to 1; 0: 0.1; Off: none
	NonRetryable    []string      // type names of errors that are not retried; see Error.Type
	MaxElapsed      time.Duration // only the first attempt may begin later than that after the call; 0: no limit
}

// listedAttempts is how many attempts of a call are kept to be shown.
const listedAttempts = 10

// ActivityOption is an option of a call of an activity. [Context.WithActivityOptions] gives it to all calls of a scope, and
// runtime.Defaults to all calls of an activity that is registered. A call's own option counts before that of its scope, and that
// before the one of the registration.
type ActivityOption interface{ activityOption }

type (
	activityOption = bind.ActivityOption
	activityFunc   = bind.ActivityOptionFunc
)

// WithRetry retries failed attempts. Without it an activity is tried once.
func WithRetry(p RetryPolicy) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		stored, err := p.stored()
		call.Retry = stored
		return err
	})
}

// WithQueue puts the activity into the named queue.
func WithQueue(name string) ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		call.Queue = name
		return check.Name("queue name", name)
	})
}

// AtMostOnce never runs an attempt again if its node was lost and its outcome is unknown. The call then ends with
// ErrWorkerLost, which no policy retries. That includes a node lost after it had taken the activity and before the code
// began. It also includes one that shut down without waiting for the code. Reported failures are retried as the policy
// says.
func AtMostOnce() ActivityOption {
	return activityFunc(func(call *history.ActivityScheduled) error {
		call.AtMostOnce = true
		return nil
	})
}

// stored checks the policy, fills in its defaults and freezes them.
func (p RetryPolicy) stored() (*history.RetryPolicy, error) {
	if p.InitialInterval == 0 {
		p.InitialInterval = time.Second
	}
	if p.MaxInterval == 0 {
		p.MaxInterval = max(time.Minute, p.InitialInterval)
	}
	if p.Coefficient == 0 {
		p.Coefficient = 2
	}
	switch p.Jitter {
	case 0:
		p.Jitter = 0.1
	case Off:
		p.Jitter = 0
	}
	switch {
	case p.MaxAttempts < 0:
		return nil, fmt.Errorf("retry policy: MaxAttempts is %d: give 1 or more, or 0 for no limit", p.MaxAttempts)
	case p.MaxElapsed < 0:
		return nil, fmt.Errorf("retry policy: MaxElapsed is %v: give more than zero, or 0 for no limit", p.MaxElapsed)
	case p.InitialInterval < 0:
		return nil, fmt.Errorf("retry policy: InitialInterval is %v: give more than zero, or 0 for 1s", p.InitialInterval)
	case p.MaxInterval < p.InitialInterval:
		return nil, fmt.Errorf("retry policy: MaxInterval is %v: give at least the InitialInterval of %v, or 0", p.MaxInterval, p.InitialInterval)
	case p.Coefficient < 1 || p.Coefficient > 1000 || math.IsNaN(p.Coefficient):
		return nil, fmt.Errorf("retry policy: Coefficient is %v: give 1 to 1000, or 0 for 2", p.Coefficient)
	case p.Jitter < 0 || p.Jitter > 1 || math.IsNaN(p.Jitter):
		return nil, fmt.Errorf("retry policy: Jitter is %v: give 0 to 1, 0 for 0.1, or Off (-1) for none", p.Jitter)
	}
	stored := &history.RetryPolicy{
		MaxAttempts:     int64(p.MaxAttempts),
		InitialInterval: micros(p.InitialInterval),
		MaxInterval:     micros(p.MaxInterval),
		Coefficient:     int64(math.Round(p.Coefficient * 1000)),
		Jitter:          int64(math.Round(p.Jitter * 1000)),
		MaxElapsed:      micros(p.MaxElapsed),
		Listed:          listedAttempts,
	}
	for _, name := range p.NonRetryable {
		stored.NonRetryable = append(stored.NonRetryable, []byte(name))
	}
	return stored, nil
}

// micros rounds up, so that a positive duration stays positive.
func micros(d time.Duration) int64 {
	n := d.Microseconds()
	if d%time.Microsecond > 0 {
		n++
	}
	return n
}

// CallActivity runs an activity and waits for its result.
func CallActivity[In, Out any](
	ctx *Context, fn func(context.Context, In) (Out, error), in In, opts ...ActivityOption,
) (Out, error) {
	return StartActivity(ctx, fn, in, opts...).Get(ctx)
}

// StartActivity schedules an activity and returns a future of its result. A function that is not registered on this node fails
// the turn; use [StartActivityNamed] or activity.Define for one that runs elsewhere only.
func StartActivity[In, Out any](
	ctx *Context, fn func(context.Context, In) (Out, error), in In, opts ...ActivityOption,
) Future[Out] {
	return StartActivityNamed[Out](ctx, activityName(ctx, fn), in, opts...)
}

// activityName returns the stored name of a function. A function without a name fails the turn.
func activityName[In, Out any](ctx *Context, fn func(context.Context, In) (Out, error)) string {
	scope := ctx.engine()
	name, defined, err := bind.ActivityName(fn)
	if err == nil && !defined {
		err = scope.Env().Activities.Check(name, reflect.ValueOf(fn).Pointer())
	}
	if err != nil {
		scope.Fail(newError(failure.ErrNotRegistered, "calling an activity: %v", err))
	}
	return name
}

// CallActivityNamed is CallActivity for an activity that is known by name only.
func CallActivityNamed[Out any](ctx *Context, name string, in any, opts ...ActivityOption) (Out, error) {
	return StartActivityNamed[Out](ctx, name, in, opts...).Get(ctx)
}

// StartActivityNamed is StartActivity for an activity that is known by name only. If no node has it, the call waits, and
// Runtime.Health shows it.
func StartActivityNamed[Out any](ctx *Context, name string, in any, opts ...ActivityOption) Future[Out] {
	if around := chainOf(ctx); !around.none() {
		return Future[Out]{f: interceptActivity(ctx, around, ActivityCall{Name: name, Options: opts}, in)}
	}
	return Future[Out]{f: callActivity(ctx, name, in, opts)}
}

// callActivity makes a call that has passed the interceptors.
func callActivity(ctx *Context, name string, in any, opts []ActivityOption) *replay.Future {
	scope := ctx.engine()
	call := newCall(scope, name)
	err := applyScope(ctx, call)
	if err == nil {
		err = completeActivity(scope, call, in, opts)
	}
	if err != nil {
		return scope.Failed(err)
	}
	return scope.Activity(call)
}

func interceptActivity(ctx *Context, around chain, call ActivityCall, in any) *replay.Future {
	var err error
	if call.Input, err = encodeInput(ctx.engine(), "activity", call.Name, in); err != nil {
		return ctx.engine().Failed(err)
	}
	return around.activity(ctx, call, func(ctx *Context, call ActivityCall) Future[json.RawMessage] {
		return Future[json.RawMessage]{f: callActivity(ctx, call.Name, call.Input, call.Options)}
	}, false).f
}

// completeActivity applies the options of a call and encodes its input.
func completeActivity(scope *replay.Scope, call *history.ActivityScheduled, in any, opts []ActivityOption) error {
	err := check.Name("activity name", call.Name)
	if err == nil {
		err = bind.ApplyActivity(opts, call)
	}
	if err != nil {
		return refused("calling activity", call.Name, err)
	}
	if call.Input, err = encodeInput(scope, "activity", call.Name, in); err != nil {
		return err
	}
	return admitPolicy(scope, call)
}

// admitPolicy refuses a policy that makes an event larger than any storage takes. Otherwise only the commit would find out. That of a
// registration is small enough for any input, and must not count: see newCall.
func admitPolicy(scope *replay.Scope, call *history.ActivityScheduled) error {
	if registered := scope.Env().Defaults[call.Name]; call.Retry == nil || registered != nil && call.Retry == registered.Retry {
		return nil
	}
	names := 0
	for _, name := range call.Retry.NonRetryable {
		names += len(name)
	}
	if len(call.Input)+names > provider.MaxPayload {
		return newError(failure.ErrTooLarge, "calling activity %s: retry policy: NonRetryable has %d bytes beside an input of %d: name fewer types",
			check.Quote(call.Name), names, len(call.Input))
	}
	return nil
}
