// Package continues has calls of ContinueAsNew that are not returned, and clean ones beside them.
package continues

import "github.com/perdure/perdure/orchestration"

func drops(ctx *orchestration.Context, n int) (int, error) {
	if n < 3 {
		orchestration.ContinueAsNew(ctx, n+1) // want `the error of ContinueAsNew is not returned: only its return continues as new; write return out, orchestration.ContinueAsNew\(...\) \(continue\)`
	}
	_ = orchestration.ContinueAsNew(ctx, n) // want `the error of ContinueAsNew is not returned`
	return n, nil
}

func compares(ctx *orchestration.Context, n int) (int, error) {
	err := orchestration.ContinueAsNewAfterHandlers(ctx, func() int { return n }) // want `the error of ContinueAsNewAfterHandlers is not returned`
	if err != nil {
		return n, nil
	}
	return n, nil
}

func handles(ctx *orchestration.Context, n int) (int, error) {
	orchestration.HandleEvent(ctx, "next", func(ctx *orchestration.Context, n int) error {
		return orchestration.ContinueAsNew(ctx, n) // want `a handler calls ContinueAsNew: it returns ErrInvalid there; set a variable, and call it in the function of the orchestration \(continue\)`
	})
	return n, nil
}

func clean(ctx *orchestration.Context, n int) (out int, err error) {
	if n < 3 {
		return 0, orchestration.ContinueAsNew(ctx, n+1)
	}
	if err := orchestration.ContinueAsNew(ctx, n); err != nil {
		return 0, err
	}
	err = orchestration.ContinueAsNew(ctx, n) // a named result
	return
}
