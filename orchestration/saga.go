package orchestration

import (
	"errors"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
)

// Saga collects how to undo what an orchestration has done, for the case that a later step fails or the instance is cancelled. The zero Saga
// is ready for use. It belongs to one execution.
//
//	var saga orchestration.Saga
//	saga.Undo(func(ctx *orchestration.Context) error { return release(ctx, room) })
//	if err := book(ctx, room); err != nil {
//		return errors.Join(err, saga.Compensate(ctx))
//	}
type Saga struct {
	// Retry says when a function of Undo that has returned an error is called again. Durable timers wait in between. MaxElapsed counts
	// from its first call. Nil: each is called once. Undo and Compensate panic if the policy is not valid.
	Retry *RetryPolicy

	undo []func(*Context) error
}

// Undo adds a function that undoes one step. If a failed step may have had its effect, call Undo before the step, and let fn do nothing
// where there is nothing to undo.
func (s *Saga) Undo(fn func(*Context) error) {
	mustFunc(fn == nil, "Saga.Undo")
	s.policy()
	s.undo = append(s.undo, fn)
}

// Compensate calls the functions of Undo one after the other, the last one first, each until it succeeds or the policy gives up. They get a
// context that no cancellation reaches: see [Context.Detached]. An error does not keep the others from being called. All errors are
// returned, joined in the order of the calls. A second Compensate calls only what was added since.
func (s *Saga) Compensate(ctx *Context) error {
	detached, policy := ctx.Detached(), s.policy()
	var errs []error
	for len(s.undo) > 0 {
		last := len(s.undo) - 1
		fn := s.undo[last]
		s.undo = s.undo[:last]
		errs = append(errs, retried(detached, policy, fn, nil))
	}
	return errors.Join(errs...)
}

// policy returns the policy with its defaults, nil for none.
func (s *Saga) policy() *history.RetryPolicy {
	if s.Retry == nil {
		return nil
	}
	stored, err := s.Retry.stored()
	if err != nil {
		panic("orchestration: Saga: " + err.Error())
	}
	return stored
}

// retried calls fn until it succeeds or the policy gives up, and returns the last error. It gives up after an error for which final, if not nil,
// returns true.
func retried(ctx *Context, policy *history.RetryPolicy, fn func(*Context) error, final func(error) bool) error {
	scope, began := ctx.engine(), ctx.Now()
	for attempt := int64(1); ; attempt++ {
		err := fn(ctx)
		if err == nil || policy == nil || final != nil && final(err) {
			return err
		}
		failed := scope.Env().Errors.Encode(err)
		delay, again := engine.RetryDelay(policy, attempt, &failed, ctx.Rand().Float64)
		late := policy.MaxElapsed > 0 && ctx.Now().Add(delay).Sub(began) > time.Duration(policy.MaxElapsed)*time.Microsecond
		if !again || late {
			return err
		}
		if slept := ctx.Sleep(delay); slept != nil {
			return errors.Join(err, slept)
		}
	}
}
