package orchestration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// RetryOrchestration runs a child as [CallOrchestration] does. If it fails, another child follows as the policy says, after a durable timer. The
// last error is returned. Each try is a child of its own, with its own ID and events in the history. MaxElapsed counts from the call. With
// [WithInstanceID] the first try has that ID, and the next ones have it with ~2, ~3 and so on at its end; the ID has at most 505 bytes.
//
// A cancellation ends the tries, of ctx or of the child, and so do a termination of the child and an ID in use. Errors of [NonRetryable] and those
// that the policy names are not retried either. Of an instance that is reset, tries behind the point are asked to stop, as all children are. A new
// try does not wait for their end, unless they have an ID of your own: it fails with ErrExists then.
//
// Code that goes on meanwhile calls it in a coroutine: see [Context.Go].
func RetryOrchestration[In, Out any](
	ctx *Context, p RetryPolicy, fn func(*Context, In) (Out, error), in In, opts ...ChildOption,
) (Out, error) {
	return retryChild(ctx, p, opts, func(ctx *Context, opts []ChildOption) Future[Out] { return StartOrchestration(ctx, fn, in, opts...) })
}

// RetryOrchestrationNamed is RetryOrchestration for a child that is known by name only.
func RetryOrchestrationNamed[Out any](ctx *Context, p RetryPolicy, name string, in any, opts ...ChildOption) (Out, error) {
	return retryChild(ctx, p, opts, func(ctx *Context, opts []ChildOption) Future[Out] {
		return StartOrchestrationNamed[Out](ctx, name, in, opts...)
	})
}

// maxTriedID leaves room for the number of a try, so that it is not the ID of a later try that is refused in place of the child's error.
const maxTriedID = provider.MaxName - 7

func retryChild[Out any](ctx *Context, p RetryPolicy, opts []ChildOption, start func(*Context, []ChildOption) Future[Out]) (out Out, err error) {
	policy, err := p.stored()
	if err != nil {
		return out, refused("retrying", "a child", err)
	}
	try := 0
	nth := childFunc(func(call *history.ChildStarted) error {
		switch {
		case len(call.ID) > maxTriedID:
			return fmt.Errorf("instance ID has %d bytes: give at most %d, because the next tries have ~2, ~3 and so on at its end", len(call.ID), maxTriedID)
		case try > 1 && call.ID != "":
			call.ID += "~" + strconv.Itoa(try)
		}
		return nil
	})
	err = retried(ctx, policy, func(ctx *Context) error {
		try++
		out, err = start(ctx, append(slices.Clip(opts), nth)).Get(ctx)
		return err
	}, endsTries)
	return out, err
}

// endsTries reports whether no further child follows one that ended with err.
func endsTries(err error) bool {
	return errors.Is(err, failure.ErrCancelled) || errors.Is(err, failure.ErrTerminated) || errors.Is(err, failure.ErrExists)
}
