package orchestration

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// DefaultLocalTimeout is the default start-to-close timeout of a local activity.
const DefaultLocalTimeout = 5 * time.Second

// CallLocal runs a short activity inside the turn and waits for its result. It costs one event in the commit of that
// turn, whereas an ordinary activity costs a commit of its own. Several in a row are stored together.
//
// The activity runs before the commit that records its result. So it runs again if that commit fails: after a crash,
// but also if another commit was faster or the turn failed. Make it idempotent, or use CallActivity. Input, context and
// activity.Info are as in the queue, with three exceptions. It cannot end later (activity.ErrPending). It cannot write
// inside the store's transaction (OnComplete). Its heartbeats only return whether it should stop.
//
// A turn waits a second for its local activities (runtime.Options.LocalActivityTime). One that runs for longer
// continues as an ordinary activity. A retry whose delay ends later waits in the queue, with the number of its attempt.
// A call begins in the queue if this node cannot run it inside the turn. The activity may not be registered here, or
// have a limit of its own or its node's rate. The call may have a session, a priority or a fairness key. The node may
// be shutting down.
//
// An attempt is bounded by [DefaultLocalTimeout] or WithStartToCloseTimeout. WithRetry, WithQueue and WithCancellation are as
// for CallActivity; AtMostOnce and WithHeartbeatTimeout are refused. Options of a scope or a registration do not count:
// see [Context.WithActivityOptions]. An execution waits for at most 100 at a time.
func CallLocal[In, Out any](
	ctx *Context, fn func(context.Context, In) (Out, error), in In, opts ...ActivityOption,
) (Out, error) {
	return StartLocal(ctx, fn, in, opts...).Get(ctx)
}

// StartLocal starts a local activity and returns a future of its result: see [CallLocal]. It begins when the code waits for
// something. All that were started by then run at the same time.
func StartLocal[In, Out any](
	ctx *Context, fn func(context.Context, In) (Out, error), in In, opts ...ActivityOption,
) Future[Out] {
	return StartLocalNamed[Out](ctx, activityName(ctx, fn), in, opts...)
}

// CallLocalNamed is CallLocal for an activity that is known by name only.
func CallLocalNamed[Out any](ctx *Context, name string, in any, opts ...ActivityOption) (Out, error) {
	return StartLocalNamed[Out](ctx, name, in, opts...).Get(ctx)
}

// StartLocalNamed is StartLocal for an activity that is known by name only.
func StartLocalNamed[Out any](ctx *Context, name string, in any, opts ...ActivityOption) Future[Out] {
	if around := chainOf(ctx); !around.none() {
		return Future[Out]{f: interceptLocal(ctx, around, ActivityCall{Name: name, Options: opts}, in)}
	}
	return Future[Out]{f: callLocal(ctx, name, in, opts)}
}

// callLocal makes a call that has passed the interceptors.
func callLocal(ctx *Context, name string, in any, opts []ActivityOption) *replay.Future {
	scope := ctx.engine()
	call := &history.ActivityScheduled{Name: name, Queue: DefaultQueue, StartToClose: micros(DefaultLocalTimeout)}
	err := completeActivity(scope, call, in, opts)
	if err == nil {
		err = admitLocal(call)
	}
	if err != nil {
		return scope.Failed(err)
	}
	return scope.Local(call)
}

func interceptLocal(ctx *Context, around chain, call ActivityCall, in any) *replay.Future {
	var err error
	if call.Input, err = encodeInput(ctx.engine(), "activity", call.Name, in); err != nil {
		return ctx.engine().Failed(err)
	}
	return around.activity(ctx, call, func(ctx *Context, call ActivityCall) Future[json.RawMessage] {
		return Future[json.RawMessage]{f: callLocal(ctx, call.Name, call.Input, call.Options)}
	}, true).f
}

var (
	errLocalAtMostOnce = errors.New("AtMostOnce: it runs before anything of it is stored: use CallActivity")
	errLocalHeartbeat  = errors.New("heartbeat timeout: its heartbeats are not kept: bound it by its start-to-close timeout")
	errLocalUnbounded  = errors.New("start-to-close timeout is 0: give more than zero")
)

// admitLocal refuses options that a local activity cannot have.
func admitLocal(call *history.ActivityScheduled) error {
	switch {
	case call.AtMostOnce:
		return refused("calling local activity", call.Name, errLocalAtMostOnce)
	case call.HeartbeatTimeout > 0:
		return refused("calling local activity", call.Name, errLocalHeartbeat)
	case call.StartToClose == 0:
		return refused("calling local activity", call.Name, errLocalUnbounded)
	}
	return nil
}
