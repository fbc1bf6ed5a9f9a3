package orchestration

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// Future is the result of an operation that may still be going on. The zero Future is not valid: using it panics.
type Future[T any] struct {
	f *replay.Future
}

// Awaitable is a case of Select: a [Future], a [Promise] or a [Mailbox].
type Awaitable interface {
	source() replay.Source
}

func (f Future[T]) source() replay.Source { return f.made() }

// Ready reports whether Get would return at once.
func (f Future[T]) Ready() bool { return f.made().Ready() }

// Get waits for the result. Each call decodes its own copy. It returns ctx's error if that scope is cancelled first;
// the operation then continues unless it belongs to the scope, too. After a cancelled call with [WaitForEnd] it waits
// for the end of the activity.
func (f Future[T]) Get(ctx *Context) (T, error) {
	var out T
	settled := f.made()
	if _, err := ctx.engine().Wait(settled); err != nil {
		return out, err
	}
	data, err := settled.Result()
	if err != nil {
		return out, err
	}
	if err := payload.Decode(data, &out); err != nil {
		return out, newError(failure.ErrPayload, "result: %v", err)
	}
	return out, nil
}

// Cancel cancels the operation. The future is settled with ErrCancelled unless it was settled before, or is that of an activity
// called with [WaitForEnd].
func (f Future[T]) Cancel() { f.made().Cancel(failure.ErrCancelled) }

// All waits for all futures and returns their values in order. Failures are joined, in order; the other values are returned all
// the same.
func All[T any](ctx *Context, futures ...Future[T]) ([]T, error) {
	values := make([]T, len(futures))
	var errs []error
	over := false // then it waits only for activities that are ending
	for i, f := range futures {
		if over && !f.made().Ending() {
			continue
		}
		v, err := f.Get(ctx)
		if err != nil {
			errs = append(errs, err)
			over = ctx.Err() != nil
		}
		values[i] = v
	}
	return values, errors.Join(errs...)
}

// Race waits for the first future to settle, with a value or an error, cancels all others and returns its value and index. The
// first in order wins among those that the same message settled.
func Race[T any](ctx *Context, futures ...Future[T]) (value T, index int, err error) {
	if len(futures) == 0 {
		return value, -1, newError(failure.ErrInvalid, "race of no futures: give one or more")
	}
	sources := make([]replay.Source, len(futures))
	for i, f := range futures {
		sources[i] = f.made()
	}
	index, err = ctx.engine().Wait(sources...)
	if err != nil {
		return value, index, err
	}
	for i, f := range futures {
		if i != index {
			f.Cancel()
		}
	}
	value, err = futures[index].Get(ctx)
	return value, index, err
}

// Select waits until one of the cases is ready and returns its index, the lowest if there are several. It cancels and consumes
// nothing. It returns ctx's error if that scope is cancelled first.
func Select(ctx *Context, cases ...Awaitable) (int, error) {
	if len(cases) == 0 {
		return -1, newError(failure.ErrInvalid, "select without cases: give one or more")
	}
	sources := make([]replay.Source, len(cases))
	for i, c := range cases {
		if c == nil {
			panic("orchestration: a case of Select is nil: leave it out")
		}
		sources[i] = c.source()
	}
	return ctx.engine().Wait(sources...)
}

// StartTimer starts a durable timer; the future is settled when d has passed. With d of
// zero or less it is settled at once.
func StartTimer(ctx *Context, d time.Duration) Future[None] {
	if around := chainOf(ctx); !around.none() {
		return around.timer(ctx, d)
	}
	return startTimer(ctx, d)
}

func startTimer(ctx *Context, d time.Duration) Future[None] {
	return Future[None]{f: ctx.engine().Timer(d)}
}

// Sleep blocks for d by a durable timer. If the scope is cancelled first it returns the scope's error. With d of zero or less
// it does not block. The option [Waiting] tells people what the code waits for.
func (c *Context) Sleep(d time.Duration, opts ...SleepOption) error {
	var o sleepOptions
	if err := bind.Apply(opts, func(opt SleepOption) error { return opt.applySleep(&o) }); err != nil {
		return newError(failure.ErrInvalid, "sleeping: %v", err)
	}
	if o.waiting != "" {
		defer c.engine().Waiting(o.waiting)()
	}
	_, err := StartTimer(c, d).Get(c)
	return err
}

// encodeInput encodes an input of a call. A value that cannot be encoded is a mistake of the code. It follows from the
// state of the code, so the call returns the same error on every replay.
func encodeInput(scope *replay.Scope, what, name string, in any) ([]byte, error) {
	data, err := scope.EncodeInput(in)
	if err != nil {
		return nil, newError(failure.ErrPayload, "input of %s %s: %v: give what encoding/json can write", what, check.Quote(name), err)
	}
	return data, nil
}
