// Package importer has a finding, and imports a package that has some.
package importer

import (
	"time"

	_ "example.com/shop/futures"
	"github.com/perdure/perdure/orchestration"
)

func drops(ctx *orchestration.Context, _ int) (int, error) {
	orchestration.StartTimer(ctx, time.Hour) // want `the future of orchestration.StartTimer is dropped`
	return 0, nil
}
