package orchestration_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/orchestration"
)

func TestSaga(t *testing.T) {
	t.Parallel()
	hourly := orchestration.RetryPolicy{InitialInterval: time.Hour, Coefficient: 1, Jitter: orchestration.Off, MaxInterval: time.Hour}
	with := func(change func(*orchestration.RetryPolicy)) *orchestration.RetryPolicy {
		p := hourly
		change(&p)
		return &p
	}
	failing := func(retry *orchestration.RetryPolicy, fails int, err error) script {
		return func(ctx *octx, note func(string, ...any)) error {
			saga := orchestration.Saga{Retry: retry}
			saga.Undo(func(*octx) error {
				note("last")
				return nil
			})
			calls := 0
			saga.Undo(func(*octx) error {
				note("try")
				if calls++; calls > fails {
					return nil
				}
				return err
			})
			return saga.Compensate(ctx)
		}
	}
	plain := errors.New("out of order")
	for name, c := range map[string]struct {
		code script
		want []string
	}{
		"reverse order, all errors": {func(ctx *octx, note func(string, ...any)) error {
			var saga orchestration.Saga
			for i := range 3 {
				saga.Undo(func(ctx *octx) error {
					err := ctx.Sleep(time.Hour)
					note("%d", i)
					if i != 1 {
						err = errors.Join(err, fmt.Errorf("%d failed", i))
					}
					return err
				})
			}
			err := saga.Compensate(ctx)
			note("%q %v", err.Error(), saga.Compensate(ctx))
			return nil
		}, []string{"1h 2", "2h 1", "3h 0", `3h "2 failed\n0 failed" <nil>`, "ok"}},
		"in a scope that is over": {func(ctx *octx, note func(string, ...any)) error {
			scope, cancel := ctx.WithCancel()
			cancel()
			var saga orchestration.Saga
			saga.Undo(func(ctx *octx) error {
				err := ctx.Sleep(time.Hour)
				note("%s", kindOf(err))
				return err
			})
			return saga.Compensate(scope)
		}, []string{"1h ok", "ok"}},
		"nothing to undo":      {func(ctx *octx, _ func(string, ...any)) error { return new(orchestration.Saga).Compensate(ctx) }, []string{"ok"}},
		"without a policy":     {failing(nil, 1, plain), []string{"0h try", "0h last", "out of order"}},
		"retried":              {failing(&hourly, 2, plain), []string{"0h try", "1h try", "2h try", "2h last", "ok"}},
		"some attempts":        {failing(with(func(p *orchestration.RetryPolicy) { p.MaxAttempts = 2 }), 9, plain), []string{"0h try", "1h try", "1h last", "out of order"}},
		"some time":            {failing(with(func(p *orchestration.RetryPolicy) { p.MaxElapsed = 90 * time.Minute }), 9, plain), []string{"0h try", "1h try", "1h last", "out of order"}},
		"not to be retried":    {failing(&hourly, 9, orchestration.NonRetryable(plain)), []string{"0h try", "0h last", "out of order"}},
		"a type of the policy": {failing(with(func(p *orchestration.RetryPolicy) { p.NonRetryable = []string{"broken"} }), 9, &orchestration.Error{Type: "broken", Message: "broken"}), []string{"0h try", "0h last", "broken"}},
		"a policy that is not valid": {func(_ *octx, note func(string, ...any)) error {
			defer func() { note("%v", recover()) }()
			saga := orchestration.Saga{Retry: &orchestration.RetryPolicy{MaxAttempts: -1}}
			saga.Undo(func(*octx) error { return nil })
			return nil
		}, []string{"0h orchestration: Saga: retry policy: MaxAttempts is -1: give 1 or more, or 0 for no limit", "ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.code.inEveryWay(t, c.want...)
		})
	}
}

// The instance is cancelled before a step, in one, and while its steps are undone.
func TestSagaOfACancelledInstance(t *testing.T) {
	t.Parallel()
	code := script(func(ctx *octx, note func(string, ...any)) error {
		saga := orchestration.Saga{Retry: &orchestration.RetryPolicy{InitialInterval: time.Hour, Jitter: orchestration.Off, MaxAttempts: 2}}
		for i := range 2 {
			saga.Undo(func(ctx *octx) error {
				err := ctx.Sleep(time.Hour)
				note("undo %d: %s", i, kindOf(err))
				return errors.New("failed")
			})
			if err := ctx.Sleep(time.Hour); err != nil {
				note("step %d: %s", i, kindOf(err))
				return errors.Join(err, saga.Compensate(ctx))
			}
		}
		return errors.Join(errors.New("failed"), saga.Compensate(ctx))
	})
	for after, want := range map[time.Duration][]string{
		30 * time.Minute:  {"0h step 0: cancelled", "1h undo 0: ok", "3h undo 0: ok", "cancelled"},
		90 * time.Minute:  {"1h step 1: cancelled", "2h undo 1: ok", "4h undo 1: ok", "5h undo 0: ok", "7h undo 0: ok", "cancelled"},
		150 * time.Minute: {"3h undo 1: ok", "5h undo 1: ok", "6h undo 0: ok", "8h undo 0: ok", "failed\nfailed\nfailed"},
	} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			code.inKit(t, after, want...)
		})
	}
}
