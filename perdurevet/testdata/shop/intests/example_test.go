package intests

import (
	"math/rand/v2"

	"github.com/perdure/perdure/orchestration"
)

func Example() {
	_ = func(ctx *orchestration.Context, _ int) (int, error) {
		return rand.Int(), nil // want `uses rand.Int`
	}
}
