package documented_test

import (
	"time"

	"example.com/shop/documented"
	"example.com/shop/helper"
	"github.com/perdure/perdure/orchestration"
)

func Example() {
	_ = func(ctx *orchestration.Context, _ int) (string, error) {
		_ = helper.Stamp() // want `orchestration code calls helper.Stamp, which uses time.Now`
		return documented.Name, nil
	}
}

func Example_clean() {
	_ = func(ctx *orchestration.Context, _ int) (time.Time, error) { return ctx.Now(), nil }
}
