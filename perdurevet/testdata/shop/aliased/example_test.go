package aliased_test

import (
	"time"

	"example.com/shop/alias"
)

func Example() {
	_ = func(ctx *alias.Context, _ int) (time.Time, error) {
		return time.Now(), nil // want `uses time.Now`
	}
}
