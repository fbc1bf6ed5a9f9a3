package doors_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/orchestration"
)

func togetherInOrchestrations() section {
	return section{
		title: "Groups, locks and sagas",
		intro: "What no error could mend panics. In an orchestration the panic fails the turn, and the instance shows as Blocked.",
		rows: func(t *testing.T, _ *world) []row {
			th := newTheater(t)
			return append(locksInOrchestrations(th), []row{
				{"a zero `Group`", th.refuses(func(*octx) error { return new(orchestration.Group).Wait() }), blocked, "orchestration code panicked: orchestration: the Group is nil or zero: take one from NewGroup", "Take it from `NewGroup`."},
				{"`Group.Go(nil)`", th.refuses(func(ctx *octx) error { orchestration.NewGroup(ctx).Go(nil); return nil }), blocked, "orchestration code panicked: orchestration: the function given to Group.Go is nil: give one", "Deploy code that gives a function."},
				{"`Group.Go` after `Wait`", th.refuses(func(ctx *octx) error {
					g := orchestration.NewGroup(ctx)
					err := g.Wait()
					g.Go(func(*octx) error { return nil })
					return err
				}), blocked, "orchestration code panicked: orchestration: Go of a Group after its Wait: make another Group", "Make a group for each round."},
				{"`Group.SetLimit(0)`", th.refuses(func(ctx *octx) error { orchestration.NewGroup(ctx).SetLimit(0); return nil }), blocked, "orchestration code panicked: orchestration: the limit of a Group is not positive: give 1 or more, or leave it out for no limit", "Check limits that come from data."},
				{"`Map` with a limit of 0", th.refuses(func(ctx *octx) error {
					_, err := orchestration.Map(ctx, []int{1}, 0, func(*octx, int) (int, error) { return 0, nil })
					return err
				}), orcInvalid, "map: limit is 0: give 1 or more", "Check limits that come from data."},
				{"`SelectFutures` of nothing", th.refuses(func(ctx *octx) error {
					_, err := orchestration.SelectFutures[int](ctx, nil)
					return err
				}), orcInvalid, "select of no futures: give one or more", "Check that the list has entries."},
				{"`Saga.Undo(nil)`", th.refuses(func(*octx) error { new(orchestration.Saga).Undo(nil); return nil }), blocked, "orchestration code panicked: orchestration: the function given to Saga.Undo is nil: give one", "Deploy code that gives a function."},
				{"a `Saga` with a retry policy of -1 attempts", th.refuses(func(ctx *octx) error {
					return (&orchestration.Saga{Retry: &orchestration.RetryPolicy{MaxAttempts: -1}}).Compensate(ctx)
				}), blocked, "orchestration code panicked: orchestration: Saga: retry policy: MaxAttempts is -1: give 1 or more, or 0 for no limit", "Deploy code with a policy that is valid."},
			}...)
		},
	}
}

func locksInOrchestrations(th *theater) []row {
	return []row{
		{"`Unlock` of a `Mutex` that is not locked", th.refuses(func(*octx) error { new(orchestration.Mutex).Unlock(); return nil }), blocked, "orchestration code panicked: orchestration: Unlock of a Mutex that is not locked", "Lock it first, and unlock it once."},
		{"`Lock`, and the coroutine that has it locked has ended", th.refuses(func(ctx *octx) error {
			var mu orchestration.Mutex
			_, err := ctx.Go(mu.Lock).Get(ctx)
			return errors.Join(err, mu.Lock(ctx))
		}), orcInvalid, "a coroutine has ended while it held the lock: release it before the function of the coroutine returns, best in a deferred call", "Unlock it in a deferred call."},
		{"a semaphore of no unit", th.refuses(func(*octx) error { orchestration.NewSemaphore(0); return nil }), blocked, "orchestration code panicked: orchestration: a Semaphore of no unit: give 1 or more", "Check sizes that come from data."},
		{"a zero `Semaphore`", th.refuses(func(ctx *octx) error { return new(orchestration.Semaphore).Acquire(ctx, 1) }), blocked, "orchestration code panicked: orchestration: the Semaphore is nil or zero: take one from NewSemaphore", "Take it from `NewSemaphore`."},
		{"`Acquire` of more units than there are", th.refuses(func(ctx *octx) error { return orchestration.NewSemaphore(1).Acquire(ctx, 2) }), orcInvalid, "acquiring 2 units of a semaphore of 1: give 1 to 1", "Check numbers that come from data."},
		{"`Release` of more units than are held", th.refuses(func(*octx) error { orchestration.NewSemaphore(1).Release(1); return nil }), blocked, "orchestration code panicked: orchestration: Release of more units of a Semaphore than are held", "Release what was acquired, once."},
	}
}
