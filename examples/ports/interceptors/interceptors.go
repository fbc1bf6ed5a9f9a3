// Package interceptors adds to all orchestrations and activities of a service without a change of their code: a budget of calls for each
// execution, and a measurement of each attempt.
package interceptors

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// ErrBudget is the error of a call that the budget of its execution does not have.
var ErrBudget = errors.New("the execution has made all the calls that it may")

// budget lets each execution call so many activities. It is code of the orchestration: it counts the same on every replay.
type budget struct {
	orchestration.InterceptorBase

	left int
}

// Activity is called around each call of an activity.
func (b *budget) Activity(
	ctx *orchestration.Context, call orchestration.ActivityCall,
	next func(*orchestration.Context, orchestration.ActivityCall) orchestration.Future[json.RawMessage],
) orchestration.Future[json.RawMessage] {
	if b.left == 0 {
		refused := orchestration.NewPromise[json.RawMessage](ctx)
		_ = refused.Fail(ErrBudget) // it is set once
		return refused.Future()
	}
	b.left--
	return next(ctx, call)
}

// timed measures attempts.
type timed struct {
	activity.InterceptorBase

	measured func(activity string, attempt int, took time.Duration)
}

// Attempt is called around each attempt of an activity.
func (t timed) Attempt(
	ctx context.Context, input json.RawMessage, next func(context.Context, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	began, info := time.Now(), activity.GetInfo(ctx)
	defer func() { t.measured(info.Activity, info.Attempt, time.Since(began)) }()
	return next(ctx, input)
}

// Register adds the interceptors to a registry.
func Register(reg *runtime.Registry, calls int, measured func(activity string, attempt int, took time.Duration)) error {
	return errors.Join(
		runtime.AddOrchestrationInterceptor(reg, func(*orchestration.Context) orchestration.Interceptor { return &budget{left: calls} }),
		runtime.AddActivityInterceptor(reg, timed{measured: measured}),
		runtime.AddError(reg, "interceptors.budget", ErrBudget),
	)
}

// Greet greets everybody, and returns how many it has greeted.
func Greet(ctx *orchestration.Context, names []string) (int, error) {
	for i, name := range names {
		if _, err := orchestration.CallActivity(ctx, Say, name, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2})); err != nil {
			return i, err
		}
	}
	return len(names), nil
}

// Say says hello.
func Say(_ context.Context, name string) (string, error) { return "hello " + name, nil }
