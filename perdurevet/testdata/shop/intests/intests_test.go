package intests

import (
	"testing"
	"time"

	"github.com/perdure/perdure/orchestration"
)

func TestNothing(*testing.T) {
	_ = func(ctx *orchestration.Context, _ int) (time.Time, error) {
		return time.Now(), nil // want `uses time.Now`
	}
	_ = func(ctx *orchestration.Context, _ int) (time.Time, error) {
		return ctx.Now(), nil //perdure:ok it was time.Now once // want `silences nothing`
	}
}
