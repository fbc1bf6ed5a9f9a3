package shared_test

import (
	"time"

	"github.com/perdure/perdure/orchestration"
)

func Example() {
	_ = func(ctx *orchestration.Context, _ int) (time.Time, error) {
		return fixture(), nil // want `orchestration code calls fixture, which uses time.Now`
	}
}
