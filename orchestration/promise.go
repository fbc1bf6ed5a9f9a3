package orchestration

import (
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/payload"
	"github.com/perdure/perdure/internal/replay"
)

// Promise is a result that the code itself sets, once, from any coroutine or handler of the execution. It is a case of
// [Select]. The zero Promise is not valid: using it panics.
type Promise[T any] struct {
	p *replay.Promise
}

// NewPromise makes a promise that is not set. It leaves no event, and neither does Set. A T that cannot be stored as JSON
// fails the turn.
//
//	decision := orchestration.NewPromise[bool](ctx)
//	orchestration.HandleEvent(ctx, "decide", func(_ *orchestration.Context, yes bool) error { return decision.Set(yes) })
//	approved, err := decision.Future().Get(ctx)
func NewPromise[T any](ctx *Context) Promise[T] {
	scope := ctx.engine()
	if err := payload.Check(reflect.TypeFor[T]()); err != nil {
		scope.Fail(fmt.Errorf("making a promise: %w", err))
	}
	return Promise[T]{p: scope.NewPromise()}
}

func (p Promise[T]) source() replay.Source { return p.made().Source() }

// Set settles the futures of the promise with v. It returns ErrInvalid if the promise is set already, and ErrPayload if v
// cannot be stored as JSON. The promise is then as it was.
//
// What a handler sets before it first waits is as old as the message that began the handler. So a Select between a timer
// and the promise answers with the promise if that message came first, also if the timer has fired in the same turn.
func (p Promise[T]) Set(v T) error {
	data, err := payload.EncodeExact(v)
	if err != nil {
		return newError(failure.ErrPayload, "value of a promise: %v: give what encoding/json can write", err)
	}
	return setError(p.made().Settle(data, nil))
}

// Fail settles the futures of the promise with err. It returns ErrInvalid if the promise is set already, or err is nil. The
// promise is then as it was.
func (p Promise[T]) Fail(err error) error {
	if err == nil {
		return newError(failure.ErrInvalid, "failing a promise: the error is nil: give one, or use Set")
	}
	return setError(p.made().Settle(nil, err))
}

// Future returns the result for one reader. Each call returns another future, which is kept until the promise is set or the future
// cancelled: take it once for each reader. Cancelling one, as the loser of a [Race] is,
// ends that future only: the promise can still be set, and its other futures go on.
func (p Promise[T]) Future() Future[T] { return Future[T]{f: p.made().View()} }

// made refuses a zero Promise.
func (p Promise[T]) made() *replay.Promise {
	if p.p == nil {
		panic("orchestration: the Promise is zero: take one from NewPromise")
	}
	return p.p
}

func setError(done bool) error {
	if done {
		return nil
	}
	return newError(failure.ErrInvalid, "setting a promise: it is set already: set it once, or make one for each result")
}
