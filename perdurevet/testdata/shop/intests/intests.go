// Package intests has findings in its code and in its tests.
package intests

import (
	"time"

	"github.com/perdure/perdure/orchestration"
)

func inCode(ctx *orchestration.Context, _ int) (time.Time, error) {
	return time.Now(), nil // want `uses time.Now`
}
