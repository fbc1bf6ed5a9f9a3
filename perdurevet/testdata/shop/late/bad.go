// Package late continues as new by the plain form although handlers change what is carried over, and has clean code beside that.
package late

import "github.com/perdure/perdure/orchestration"

type till struct{ cents, days int }

func (t *till) pay(_ *orchestration.Context, cents int) (int, error) {
	t.cents += cents
	return t.cents, nil
}

func (t *till) look(_ *orchestration.Context, _ int) (int, error) { return t.cents, nil }

func literal(ctx *orchestration.Context, cents int) (int, error) {
	orchestration.HandleEvent(ctx, "coin", func(_ *orchestration.Context, n int) error {
		cents += n
		return nil
	})
	return 0, orchestration.ContinueAsNew(ctx, cents) // want `ContinueAsNew in code with a handler that changes cents: what it changes after the call is lost; use ContinueAsNewAfterHandlers \(late\)`
}

func method(ctx *orchestration.Context, cents int) (int, error) {
	t := &till{cents: cents}
	orchestration.HandleUpdate(ctx, "pay", t.pay)
	return t.next(ctx)
}

func (t *till) next(ctx *orchestration.Context) (int, error) {
	return 0, orchestration.ContinueAsNew(ctx, t.cents) // want `ContinueAsNew in code with a handler that changes t: `
}

func through(ctx *orchestration.Context, cents int) (int, error) {
	t := &till{cents: cents}
	t.handle(ctx)
	return 0, orchestration.ContinueAsNew(ctx, t.cents) // want `ContinueAsNew in code with a handler that changes t: `
}

func (t *till) handle(ctx *orchestration.Context) {
	orchestration.HandleUpdate(ctx, "pay", func(ctx *orchestration.Context, cents int) (int, error) {
		return t.pay(ctx, cents)
	})
}

func lateForm(ctx *orchestration.Context, cents int) (int, error) {
	orchestration.HandleEvent(ctx, "coin", func(_ *orchestration.Context, n int) error {
		cents += n
		return nil
	})
	return 0, orchestration.ContinueAsNewAfterHandlers(ctx, func() int { return cents })
}

func reads(ctx *orchestration.Context, cents int) (int, error) {
	t := &till{cents: cents}
	orchestration.HandleUpdate(ctx, "look", t.look)
	orchestration.HandleEvent(ctx, "print", func(ctx *orchestration.Context, n int) error {
		sum := n
		sum += cents
		ctx.Logger().Info("sum", "is", sum)
		return nil
	})
	return 0, orchestration.ContinueAsNew(ctx, cents)
}
